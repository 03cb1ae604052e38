package engine

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/codexconfig"
	"github.com/berth-run/berth/session/client/private"
)

// Limits of contract §6.1.
const (
	loginLimit  = 45 * time.Second
	statusLimit = 15 * time.Second
	maxAPIKey   = 8 << 10
)

// readAPIKey reads the key file, which must be this user's alone.
func readAPIKey(path string) (string, error) {
	f, info, err := private.Open(path)
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
	if key == "" || len(b) > maxAPIKey || !codexconfig.IsPrintable(key) {
		return "", code.Errorf(code.APIKeyInvalid, "an API key is printable ASCII of at most %d bytes", maxAPIKey)
	}
	return key, nil
}

// Login stores the API key that a file holds where the config says, and makes sure that Codex sees it
// there. The key is redacted from then on.
func (c Codex) Login(ctx context.Context, keyFile string) error {
	key, err := readAPIKey(keyFile)
	if err != nil {
		return err
	}
	c.Redact.Add(key)
	out, err := c.command(ctx, loginLimit, key, "login", "--with-api-key")
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return code.Errorf(code.LoginTimeout, "codex login --with-api-key took more than %v", loginLimit)
	case err != nil:
		return code.Errorf(code.LoginFailed, "codex login --with-api-key: %w%s", err, c.lastLine(out))
	}
	out, err = c.command(ctx, statusLimit, "", "login", "status")
	if err != nil || !strings.Contains(strings.ToLower(out), "api key") {
		return code.Errorf(code.LoginUnverified, "codex login status tells of no API key%s", c.lastLine(out))
	}
	return nil
}
