package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/berth-run/berth/internal/gateway"
)

// gatewayFlags are `berth gateway`'s.
type gatewayFlags struct{ script, listen, tokenFile, log string }

func newGateway() *cobra.Command {
	var f gatewayFlags
	c := &cobra.Command{
		Use:   "gateway",
		Short: "Serve a scripted LLM gateway on loopback, for rehearsals and tests",
		Long: `Serves /v1/models and /v1/responses on loopback and answers by a script instead of a model.
docs/gateway-script.md explains the format; without --script a small built-in one echoes.

It prints what to export, logs each request as a line of JSON, and ends with Ctrl-C.`,
		Example: `  berth gateway --script script.json --token-file ~/.gateway-token
  export OPENAI_BASE_URL=http://127.0.0.1:8080/v1 MST_LLM_AUTH_COMMAND="cat ~/.gateway-token"
  berth run --config eval.json --runner podman`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return untilInterrupt(c.Context(), func(ctx context.Context) error {
				return f.serve(ctx, c.OutOrStdout(), c.ErrOrStderr())
			})
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.script, "script", "", "answer by this `FILE` (default: a built-in script)")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8080", "the loopback `ADDRESS`; port 0 takes a free one")
	fl.StringVar(&f.tokenFile, "token-file", "", "accept only the token in this `FILE`; made when it isn't there")
	fl.StringVar(&f.log, "log", "", "append the request log to this `FILE` (default: stderr)")
	return c
}

// serve answers until ctx ends.
func (f *gatewayFlags) serve(ctx context.Context, stdout, stderr io.Writer) error {
	s, err := loadScript(f.script)
	if err != nil {
		return usageError{err}
	}
	o := gateway.Options{Log: stderr}
	if f.log != "" {
		file, err := os.OpenFile(f.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		o.Log = file
	}
	export := "export OPENAI_API_KEY=any  # no --token-file: every token is accepted"
	if f.tokenFile != "" {
		if o.Token, err = openToken(f.tokenFile); err != nil {
			return err
		}
		export = fmt.Sprintf("export MST_LLM_AUTH_COMMAND='cat %s'", f.tokenFile)
	}
	g, err := gateway.New(s, o)
	if err != nil {
		return usageError{err}
	}
	l, err := gateway.Listen(f.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "export OPENAI_BASE_URL=%s\n%s\n", gateway.BaseURL(l), export)
	return g.Serve(ctx, l)
}

// openToken is the token in a file, which is made with a new one when it isn't there.
func openToken(path string) (gateway.Credential, error) {
	file := gateway.File(path)
	_, err := file.Current()
	if errors.Is(err, fs.ErrNotExist) {
		err = file.Rotate()
	}
	return file, err
}

func loadScript(path string) (gateway.Script, error) {
	if path == "" || path == "default" {
		return gateway.Default(), nil
	}
	return gateway.Load(path)
}
