package codex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/process"
)

// Limits of contract §6.1.
const (
	loginLimit  = 45 * time.Second
	statusLimit = 15 * time.Second
)

// readAPIKey reads the key file, which must be this user's alone.
func readAPIKey(path string) (string, error) {
	f, info, err := openPlain(path)
	if err != nil {
		return "", code.Errorf(code.APIKeyFileUnsafe, "%w", err)
	}
	defer f.Close()
	if info.Mode().Perm() != 0o600 {
		return "", code.Errorf(code.APIKeyFileUnsafe, "%s must have mode 0600", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxAPIKey+1))
	if err != nil {
		return "", code.Errorf(code.APIKeyFileUnsafe, "%w", err)
	}
	key := strings.TrimSuffix(string(b), "\n")
	if key == "" || len(b) > maxAPIKey || !isPrintable(key) {
		return "", code.Errorf(code.APIKeyInvalid, "an API key is printable ASCII of at most %d bytes", maxAPIKey)
	}
	return key, nil
}

// login stores the API key in a trial's home and makes sure that Codex sees it there.
func (s *session) login(ctx context.Context, h home, mark string) error {
	key, err := readAPIKey(s.batch.Inference.TokenFile)
	if err != nil {
		return err
	}
	s.redact.Add(key)
	out, err := s.command(ctx, h, mark, loginLimit, key, "login", "--with-api-key")
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return code.Errorf(code.LoginTimeout, "codex login --with-api-key took more than %v", loginLimit)
	case err != nil:
		return code.Errorf(code.LoginFailed, "codex login --with-api-key: %w%s", err, s.lastLine(out))
	}
	out, err = s.command(ctx, h, mark, statusLimit, "", "login", "status")
	if err != nil || !strings.Contains(strings.ToLower(out), "api key") {
		return code.Errorf(code.LoginUnverified, "codex login status tells of no API key%s", s.lastLine(out))
	}
	return nil
}

// command runs a Codex subcommand with stdin and gives what it wrote, to either place.
func (s *session) command(ctx context.Context, h home, mark string, limit time.Duration, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p, err := process.Start(process.Spec{
		Path: s.client.opts.Path, Args: args, Dir: h.workspace(), Env: environ(h, nil, nil), Mark: mark,
	})
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&out, io.LimitReader(p.Stdout, 64<<10)) // its end, or the limit's
	}()
	_, werr := io.WriteString(p.Stdin, stdin)
	p.Stdin.Close()
	select {
	case <-p.Done():
	case <-ctx.Done():
	}
	err = errors.Join(ctx.Err(), p.End(ctx))
	<-read
	text := out.String() + p.Stderr()
	switch {
	case err != nil:
		return text, err
	case p.Exit() != "exit status 0":
		return text, errors.New(p.Exit())
	}
	return text, werr
}

// lastLine is a program's last word, for an error.
func (s *session) lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return fmt.Sprintf(": %s", s.redact.String(last))
	}
	return ""
}
