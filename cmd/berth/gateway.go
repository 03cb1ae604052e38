package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/berth-run/berth/internal/gateway"
)

func newGateway() *cobra.Command {
	var script, listen, tokenFile, logFile string
	c := &cobra.Command{
		Use:   "gateway",
		Short: "Serve a scripted LLM gateway on loopback, for rehearsals and tests",
		Long: `Serves /v1/models and /v1/responses on loopback and answers by a script instead of a model.
docs/gateway-script.md explains the format; without --script a small built-in one echoes.

It prints what to export, and logs each request as a line of JSON.`,
		Example: `  berth gateway --script script.json --token-file ~/.gateway-token
  export OPENAI_BASE_URL=http://127.0.0.1:8080/v1 MST_LLM_AUTH_COMMAND="cat ~/.gateway-token"
  berth run --config eval.json --runner podman`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := loadScript(script)
			if err != nil {
				return usageError{err}
			}
			log, closeLog, err := openLog(logFile)
			if err != nil {
				return err
			}
			defer closeLog()
			o := gateway.Options{Log: log}
			if tokenFile != "" {
				file := gateway.File(tokenFile)
				if _, err := file.Current(); os.IsNotExist(err) {
					err = file.Rotate()
					if err != nil {
						return err
					}
				}
				o.Token = file
			}
			g, err := gateway.New(s, o)
			if err != nil {
				return usageError{err}
			}
			l, err := gateway.Listen(listen)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "export OPENAI_BASE_URL=%s\n", gateway.BaseURL(l))
			if tokenFile != "" {
				fmt.Fprintf(c.OutOrStdout(), "export MST_LLM_AUTH_COMMAND='cat %s'\n", tokenFile)
			} else {
				fmt.Fprintln(c.OutOrStdout(), "export OPENAI_API_KEY=any  # no --token-file: every token is accepted")
			}
			ctx, stop := untilInterrupt(c.Context())
			defer stop()
			return g.Serve(ctx, l)
		},
	}
	f := c.Flags()
	f.StringVar(&script, "script", "", "answer by this file (default: a built-in script)")
	f.StringVar(&listen, "listen", "127.0.0.1:8080", "loopback address; port 0 takes a free one")
	f.StringVar(&tokenFile, "token-file", "", "accept only the token in this file; made when it isn't there")
	f.StringVar(&logFile, "log", "", "append the request log to this file (default: stderr)")
	return c
}

func loadScript(path string) (gateway.Script, error) {
	if path == "" || path == "default" {
		return gateway.Default(), nil
	}
	return gateway.Load(path)
}

func openLog(path string) (io.Writer, func() error, error) {
	if path == "" {
		return os.Stderr, func() error { return nil }, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return f, f.Close, nil
}
