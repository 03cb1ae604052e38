package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCodexConfigComplaints(t *testing.T) {
	for what, tc := range map[string]struct {
		script string
		want   error
		says   string
	}{
		"accepted":    {`test -f "$CODEX_HOME/config.toml" && test "$HOME" = "$CODEX_HOME" && test -z "$OPENAI_API_KEY" && test "$*" = "app-server --strict-config"`, nil, ""},
		"unknown key": {`printf 'a log line\nError: %s/config.toml:3:1: unknown configuration field\n\nStack\n' "$CODEX_HOME" >&2; exit 1`, ErrCheck, "config: config.toml:3:1: unknown configuration field ("},
		"no error":    {`echo "can't start" >&2; exit 1`, ErrCheck, "can't start"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Setenv("OPENAI_API_KEY", "sk-planted")
			binary := filepath.Join(t.TempDir(), "codex")
			writeFile(t, binary, "#!/bin/sh\n"+tc.script+"\n", 0o755)
			err := CheckCodexConfig(t.Context(), binary, []byte("model = \"m\"\n"))
			if !errors.Is(err, tc.want) || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %v with %q", err, tc.want, tc.says)
			}
			left, err := os.ReadDir(filepath.Dir(binary))
			if err != nil || len(left) != 1 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

func TestCancelledCodexCheck(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "codex")
	writeFile(t, binary, "#!/bin/sh\nexec sleep 600\n", 0o755)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := CheckCodexConfig(ctx, binary, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
