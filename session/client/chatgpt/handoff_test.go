package chatgpt

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
)

// TestHandOff: a prompt goes to the app once, as the contract has it, and without what isn't for it.
func TestHandOff(t *testing.T) {
	f := newFake(t)
	f.batch.Servers = nil
	f.batch.Options = json.RawMessage(`{"env": {"FROM_CONFIG": "yes"}}`)
	s := f.open()
	const prompt = "Grüße & 漢字:\n\"`~/-_.'+%"
	if res := s.try(prompt); res.FailureCode != "" {
		t.Fatalf("%s: %s", res.FailureCode, res.Error)
	}
	links := f.read("links")
	if len(links) != 2 || links[0] != "codex://new?path="+quote(s.profile.workspace) || !strings.HasPrefix(links[1], links[0]+"&prompt=Gr%C3%BC%C3%9Fe%20%26%20%E6%BC%A2%E5%AD%97%3A%0A%22%60~%2F-_.%27%2B%25") {
		t.Errorf("links %q", links)
	}
	u, err := url.Parse(links[1])
	if err != nil || u.Query().Get("prompt") != prompt {
		t.Errorf("prompt %q, error %v", u.Query().Get("prompt"), err)
	}
	f.awaitApp()
	if d := cmp.Diff(flags, f.read("app.args")); d != "" {
		t.Errorf("flags (-want +got):\n%s", d)
	}
	if d := cmp.Diff(f.environment("app.env"), f.environment("second.env")); d != "" {
		t.Errorf("the second start's environment (-app +second):\n%s", d)
	}
	want := map[string]string{
		"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "NO_AT_BRIDGE": "0", "ACCESSIBILITY_ENABLED": "1", "GTK_MODULES": "gail:atk-bridge",
		"FROM_CONFIG": "yes", "HOME": f.client.opts.Home, "CODEX_HOME": f.client.opts.Home + "/.codex", "TMPDIR": f.client.opts.Home + "/tmp",
		"XDG_CONFIG_HOME": f.client.opts.Home + "/.config", "XDG_DATA_HOME": f.client.opts.Home + "/.local/share", "XDG_CACHE_HOME": f.client.opts.Home + "/.cache",
	}
	for _, kv := range f.desktop.env {
		if name, value, _ := strings.Cut(kv, "="); name != "OTHER" {
			want[name] = value
		}
	}
	if d := cmp.Diff(want, f.environment("app.env")); d != "" {
		t.Errorf("the app's environment (-want +got):\n%s", d)
	}
}

// environment is one that the fake app noted, but for what the shell and the client's own mark add.
func (f *fake) environment(name string) map[string]string {
	f.t.Helper()
	env := map[string]string{}
	for _, kv := range f.read(name) {
		k, v, _ := strings.Cut(kv, "=")
		if k != "PWD" && k != "BERTH_EXEC_ID" && k != "_" {
			env[k] = v
		}
	}
	return env
}

// TestHandOffFails: nothing was sent, and nothing is handed off again.
func TestHandOffFails(t *testing.T) {
	for name, tc := range map[string]struct {
		second string // what the second start does
		limit  time.Duration
		want   code.Code
		text   string
	}{
		"another status": {"echo 'no tok-0123456789abcdef' >&2; exit 7", time.Minute, code.URLHandoffFailed, "exit status 7: no [redacted]"},
		"no end":         {"exec sleep 1000", 200 * time.Millisecond, code.URLHandoffFailed, "hasn't ended after 200ms"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			s := f.open()
			must(t, os.WriteFile(filepath.Join(f.dir, "second"), []byte(tc.second), 0o600))
			f.client.opts.Limits.Handoff = tc.limit
			res := s.try("hello")
			if res.FailureCode != tc.want || res.Submitted || !res.Infrastructure || !strings.Contains(res.Error, tc.text) {
				t.Errorf("%s: %s (submitted %v)", res.FailureCode, res.Error, res.Submitted)
			}
			codetest.Saw(t, res.FailureCode)
			if n := len(f.read("links")); n > 2 { // one that is ended soon may not have come to noting it
				t.Errorf("%d hand-offs, want the set-up's and one", n)
			}
		})
	}
}

// TestHandedOnce: whoever asks a second time within one Submit is refused.
func TestHandedOnce(t *testing.T) {
	f := newFake(t)
	s := f.open()
	f.send = func(prompt string) (driver.Receipt, error) {
		return driver.Receipt{Status: driver.Failed}, s.handOff(context.Background(), prompt)
	}
	if res := s.try("hello"); res.FailureCode != code.URLHandoffFailed || !strings.Contains(res.Error, "twice") || len(f.read("links")) != 2 {
		t.Errorf("%s: %s", res.FailureCode, res.Error)
	}
}

// TestDesktopEndsAtHandOff: a second start that finds no desktop any more isn't what went wrong.
func TestDesktopEndsAtHandOff(t *testing.T) {
	f := newFake(t)
	f.client.window = func(_ context.Context, o driver.Options) (window, error) {
		return &lostDesktop{fakeWindow{f, o}}, nil
	}
	s := f.open()
	must(t, os.WriteFile(filepath.Join(f.dir, "second"), []byte("exit 1"), 0o600))
	res := s.try("hello")
	if res.FailureCode != code.SessionFailed || res.Submitted || !res.Infrastructure || !strings.Contains(res.Error, "display (Xvfb) ended") {
		t.Errorf("%s: %s (submitted %v)", res.FailureCode, res.Error, res.Submitted)
	}
}

// lostDesktop is a window whose desktop's end is known a little after a hand-off has failed of it.
type lostDesktop struct{ fakeWindow }

func (l *lostDesktop) Submit(ctx context.Context, s driver.Surface, prompt string) (driver.Receipt, error) {
	receipt, err := l.fakeWindow.Submit(ctx, s, prompt)
	l.fake.desktop.lost.Store(true)
	go l.fake.desktop.end(code.Errorf(code.SessionFailed, "display (Xvfb) ended"))
	return receipt, err
}
