package inference

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/gateway"
	"github.com/berth-run/berth/internal/redact"
)

// The real Codex behind a tunnel doesn't notice that the gateway replaces its token after every
// answer: a request that comes with the old one is refused once, and by then the file is renewed.
func TestCodexThroughTheTunnelOfARotatingGateway(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the real Codex: not with -short")
	}
	codex := os.Getenv("BERTH_CODEX")
	if codex == "" {
		t.Skip("needs the real Codex: set BERTH_CODEX to the binary of npm's @openai/codex")
	}
	for _, broker := range []bool{false, true} {
		t.Run(fmt.Sprintf("broker=%v", broker), func(t *testing.T) {
			script, err := gateway.Parse("script.json", []byte(`{"token": {"rotateEvery": 1}, "rules": [{"steps": [
			  {"command": {"cmd": "echo one"}}, {"command": {"cmd": "echo two"}}, {"text": "{{output 1}} {{output}}"}]}]}`))
			must(t, err)
			token := gateway.Random()
			g, err := gateway.New(script, gateway.Options{Token: token})
			must(t, err)
			base, stop, err := g.Start("127.0.0.1:0")
			must(t, err)
			t.Cleanup(func() { must(t, stop()) })
			r := newRig(t, base)
			r.way.source = NewSource(func(context.Context) (string, error) { return token.Current() }, defaultTTL, new(redact.Set))
			if broker {
				must(t, r.way.Broker())
			}
			r.start(t)

			user, err := os.UserHomeDir() // not below /tmp: Codex refuses that
			must(t, err)
			home, err := os.MkdirTemp(user, "berth-inference-test-*")
			must(t, err)
			t.Cleanup(func() { must(t, os.RemoveAll(home)) })
			file := filepath.Join(home, "token")
			must(t, r.way.Provide(t.Context(), 0,
				func(_ context.Context, b []byte) error { return os.WriteFile(file, b, 0o600) },
				func(err error) { t.Error(err) }))
			must(t, os.WriteFile(filepath.Join(home, "config.toml"), fmt.Appendf(nil, `
model = "gpt-5.5"
model_provider = "tunnel"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.tunnel]
name = "tunnel"
base_url = "%s/v1"
wire_api = "responses"
[model_providers.tunnel.auth]
command = "/bin/cat"
args = [%q]
refresh_interval_ms = 60000
`, r.tunnel.URL, file), 0o600))

			cmd := exec.CommandContext(t.Context(), codex, "exec", "--skip-git-repo-check", "--", "go")
			cmd.Dir = home
			cmd.Env = []string{"CODEX_HOME=" + home, "HOME=" + home, "PATH=/usr/bin:/bin"}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || strings.TrimSpace(string(out)) != "one two" {
				t.Errorf("%v: %q\n%s", err, out, &stderr)
			}
			if n := r.way.Stats(0).Statuses[401]; n != 2 {
				t.Errorf("%d refusals, want one for each of two rotations: %+v", n, r.way.Stats(0))
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
