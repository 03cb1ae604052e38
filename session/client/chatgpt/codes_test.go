package chatgpt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
)

// TestTrialCodes: what a trial comes to in an app, a workspace or a record that isn't what it was.
func TestTrialCodes(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil       func(*fake, *batch)
		want        code.Code
		text        string
		sent, infra bool
	}{
		"no workspace": {func(_ *fake, s *batch) { must(t, os.RemoveAll(s.profile.workspace)) }, code.WorkspaceUnsafe, "no such file", false, true},
		"another workspace": {func(_ *fake, s *batch) {
			must(t, os.Rename(s.profile.workspace, s.profile.workspace+"1"))
			must(t, os.Symlink("/", s.profile.workspace))
		}, code.WorkspaceUnsafe, "another file than the folder that was made", false, true},
		"a receipt of nothing": {func(f *fake, _ *batch) {
			f.send = func(string) (driver.Receipt, error) { return driver.Receipt{Status: driver.Ready}, nil }
		}, code.MissingOrInvalidReceipt, `the driver's receipt says "ready"`, false, true},
		"a session that tells nothing of itself": {func(f *fake, s *batch) {
			f.send = func(string) (driver.Receipt, error) {
				dir := filepath.Join(s.profile.codexHome(), "sessions", "2026", "11", "29")
				must(t, os.MkdirAll(dir, 0o700))
				must(t, os.WriteFile(filepath.Join(dir, "rollout-x.jsonl"), []byte(`{"type":"session_meta","payload":"x"}`+"\n"), 0o600))
				return sent, nil
			}
		}, code.ClientSessionMetadata, "malformed session metadata", true, false},
		"a record that can't be read": {func(f *fake, s *batch) {
			f.send = func(string) (driver.Receipt, error) {
				dir := filepath.Join(s.profile.codexHome(), "sessions", "2026", "11", "29")
				must(t, os.MkdirAll(dir, 0o700))
				must(t, os.WriteFile(filepath.Join(dir, "rollout-x.jsonl"), []byte("x\nx\n"), 0o600))
				return sent, nil
			}
		}, code.ParseFailure, "malformed rollout", true, false},
		"a question in the turn": {func(f *fake, _ *batch) {
			f.client.opts.Limits.Turn.Stall, f.client.opts.Limits.Asks = time.Minute, 10*time.Millisecond
			f.asks = code.Errorf(code.PermissionRequired, "it asks")
			f.send = func(prompt string) (driver.Receipt, error) {
				f.record(recorded{prompt: prompt, end: "-"})
				return sent, nil
			}
		}, code.PermissionRequired, "it asks", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			s := f.open()
			tc.spoil(f, s)
			res := s.try("hello")
			if res.FailureCode != tc.want || res.Submitted != tc.sent || res.Infrastructure != tc.infra || !strings.Contains(res.Error, tc.text) {
				t.Errorf("%s: %s (submitted %v, infrastructure %v)", res.FailureCode, res.Error, res.Submitted, res.Infrastructure)
			}
			codetest.Saw(t, res.FailureCode)
		})
	}
}

// TestHandOffCodes: a draft needs an app that runs, before and after.
func TestHandOffCodes(t *testing.T) {
	f := newFake(t)
	s := f.open()
	running := s.app
	s.app = nil
	err := s.handOff(context.Background(), "hello")
	if code.Of(err) != code.AppNotRunning {
		t.Errorf("with no app: %v", err)
	}
	codetest.Saw(t, code.Of(err))
	// Its end isn't known yet when the second start is over.
	must(t, running.process.End(context.Background()))
	s.app = &app{process: running.process, desktop: running.desktop, alive: context.Background(), stop: func(error) {}}
	err = s.handOff(context.Background(), "hello")
	if code.Of(err) != code.URLHandoffUnverified {
		t.Errorf("with one that has ended: %v", err)
	}
	codetest.Saw(t, code.Of(err))
	s.app = running
}

// TestMarker: a variant may have every prompt marked, which its record says.
func TestMarker(t *testing.T) {
	f := newFake(t)
	f.batch.Options = []byte(`{"correlation": "prompt_marker"}`)
	s := f.open()
	var prompts []string
	well := f.send
	f.send = func(prompt string) (driver.Receipt, error) {
		prompts = append(prompts, prompt)
		return well(prompt)
	}
	for range 2 {
		res := s.try("hello")
		c := res.Metadata["correlation"].(map[string]any)
		marker, _ := c["marker"].(string)
		if res.FailureCode != "" || marker == "" || prompts[len(prompts)-1] != "hello\n\n[mst-run: "+marker+"]" ||
			c["includedInPrompt"] != true || c["promptUnchanged"] != false || c["strategy"] != "prompt_marker" {
			t.Errorf("%s: %s; sent %q, recorded %v", res.FailureCode, res.Error, prompts, c)
		}
	}
	if prompts[0] == prompts[1] {
		t.Errorf("two trials have one marker: %q", prompts)
	}
}

// TestOpenErrorIsTold: what a batch came to that couldn't be opened is in the record of each of its trials.
func TestOpenErrorIsTold(t *testing.T) {
	f := newFake(t)
	f.prepare = func(driver.Receipt) (driver.Receipt, error) {
		return driver.Receipt{Status: driver.Failed, Phase: driver.IntroDismiss, ActionCount: 3}, code.Errorf(code.SkipMissingOrAmbiguous, "2 Skip")
	}
	_, err := f.client.Open(context.Background(), f.batch)
	var told *client.OpenError
	if !errors.As(err, &told) || code.Of(err) != code.SkipMissingOrAmbiguous {
		t.Fatalf("error %v", err)
	}
	l := told.Telemetry["batchLifecycle"].(map[string]any)
	if setup := l["nativeSetup"].(driver.Receipt); setup.Phase != driver.IntroDismiss || setup.ActionCount != 3 || l["setupStatus"] != client.Failed || l["cleanupStatus"] != client.Completed {
		t.Errorf("lifecycle %v", l)
	}
	if told.Metadata[client.FailureKind] != code.AppUnavailable {
		t.Errorf("metadata %v", told.Metadata)
	}
	f.checkGone()
}

// TestConfigIsKept: what an app has written into its config before is still there.
func TestConfigIsKept(t *testing.T) {
	p, err := newProfile(filepath.Join(t.TempDir(), "home"))
	must(t, err)
	path := filepath.Join(p.codexHome(), "config.toml")
	must(t, os.WriteFile(path, []byte("theme = \"dark\"\nmodel = \"old\"\n"), 0o600))
	must(t, p.writeConfig([]byte("model = \"new\"\n")))
	text, err := os.ReadFile(path)
	must(t, err)
	if got := string(text); !strings.Contains(got, `theme = "dark"`) || !strings.Contains(got, `model = "new"`) || strings.Contains(got, "old") {
		t.Errorf("config.toml:\n%s", got)
	}
	must(t, p.remove())
}
