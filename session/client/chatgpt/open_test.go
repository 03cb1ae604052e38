package chatgpt

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
)

// TestOpenRefuses: what is wrong before the app is there, and that nothing is left then.
func TestOpenRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*fake)
		want  code.Code
		text  string
	}{
		"unknown option":         {func(f *fake) { f.batch.Options = json.RawMessage(`{"effort": "high"}`) }, code.EnvironmentInvalid, `unknown key "effort"; chatgpt takes reasoningEffort`},
		"no model":               {func(f *fake) { f.batch.Model = "" }, code.EnvironmentInvalid, "model"},
		"reserved label":         {func(f *fake) { f.batch.Servers = []client.Server{{Label: "cua_repl", Command: "/x"}} }, code.EnvironmentInvalid, "Codex's own"},
		"no inference":           {func(f *fake) { f.batch.Inference.BaseURL = "" }, code.InferenceUnavailable, ""},
		"open evidence folder":   {func(f *fake) { must(f.t, os.Chmod(f.batch.EvidenceDir, 0o755)) }, code.EvidenceDirUnsafe, "mode 0700"},
		"relative evidence":      {func(f *fake) { f.batch.EvidenceDir = "evidence" }, code.EnvironmentInvalid, "MST_CHATGPT_EVIDENCE_DIR: "},
		"no app":                 {func(f *fake) { f.client.opts.AppPath = "/no/app" }, code.AppPathInvalid, "/no/app"},
		"relative app":           {func(f *fake) { f.client.opts.AppPath = "app" }, code.EnvironmentInvalid, "MST_CHATGPT_APP_PATH: "},
		"no Codex":               {func(f *fake) { f.client.opts.CodexPath = "/no/codex" }, code.CodexPathInvalid, "/no/codex"},
		"no desktop":             {func(f *fake) { f.desktop.end(code.Errorf(code.SessionFailed, "display (Xvfb) isn't installed")) }, code.SessionFailed, "isn't installed"},
		"locked keyring":         {func(f *fake) { f.client.keyring.check = locked }, code.KeyringLocked, "locked"},
		"keyring can't be empty": {func(f *fake) { f.client.keyring.clear = locked }, code.KeyringLocked, "locked"},
		"another's profile":      {func(f *fake) { must(f.t, os.Mkdir(f.client.opts.Home, 0o700)) }, code.HomeNotFresh, "is there already"},
		"no place for a profile": {func(f *fake) { f.client.opts.Home = filepath.Join(f.dir, "no", "where") }, code.HomeUnsafe, ""},
		"bus of another kind":    {func(f *fake) { f.desktop.env[2] = "DBUS_SESSION_BUS_ADDRESS=tcp:host=localhost" }, code.EnvironmentInvalid, "DBUS_SESSION_BUS_ADDRESS: "},
		"dead MCP server": {func(f *fake) {
			f.batch.Servers = []client.Server{{Label: "notes", Transport: "stdio", Command: "/no/such/server"}}
		}, code.MCPPreflightFailed, "MCP server notes"},
		"Codex without a word": {func(f *fake) { f.script("codex", "exit 3") }, code.AppExited, "exit status 3"},
		"app that can't start": {func(f *fake) { must(f.t, os.WriteFile(filepath.Join(f.dir, "app"), []byte("\x7fELF"), 0o700)) }, code.AppStartFailed, "exec format error"},
		"app that ends": {func(f *fake) {
			f.client.opts.Limits.Settle = 1e10
			f.script("app", "echo last tok-0123456789abcdef; exit 133")
		}, code.AppExited, "(exit status 133): last [redacted]"},
		"no window": {func(f *fake) { f.client.window = noWindow }, code.DesktopDriverFailed, "no bus"},
		"no composer": {func(f *fake) {
			f.prepare = func(driver.Receipt) (driver.Receipt, error) {
				return driver.Receipt{}, code.Errorf(code.ProfessionAmbiguous, "2 professions")
			}
		}, code.ProfessionAmbiguous, "2 professions"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			tc.spoil(f)
			_, err := f.client.Open(context.Background(), f.batch)
			if code.Of(err) != tc.want || !strings.Contains(err.Error(), tc.text) || strings.Contains(err.Error(), secret) {
				t.Fatalf("error %v, want %s with %q", err, tc.want, tc.text)
			}
			codetest.Saw(t, code.Of(err))
			if tc.want == code.HomeNotFresh {
				must(t, os.Remove(f.client.opts.Home)) // it's another's, and still there
			}
			f.checkGone()
		})
	}
}

func locked(context.Context, *dbus.Conn) error {
	return code.Errorf(code.KeyringLocked, "the login keyring is locked")
}

func noWindow(context.Context, driver.Options) (window, error) {
	return nil, code.Errorf(code.DesktopDriverFailed, "no bus")
}

// TestNoBus: with the real driver, and no bus for it.
func TestNoBus(t *testing.T) {
	f := newFake(t)
	f.client.window = openWindow
	if _, err := f.client.Open(context.Background(), f.batch); code.Of(err) != code.DesktopDriverFailed {
		t.Errorf("error %v", err)
	}
	codetest.Saw(t, code.DesktopDriverFailed)
	f.checkGone()
}

// TestDesktopEndsBeforeTheDriver: a bus that nobody can connect to any more isn't what went wrong.
func TestDesktopEndsBeforeTheDriver(t *testing.T) {
	f := newFake(t)
	f.client.window = func(ctx context.Context, o driver.Options) (window, error) {
		f.desktop.end(code.Errorf(code.SessionFailed, "display (Xvfb) ended"))
		return noWindow(ctx, o)
	}
	if _, err := f.client.Open(context.Background(), f.batch); code.Of(err) != code.SessionFailed || !strings.Contains(err.Error(), "display (Xvfb) ended") {
		t.Errorf("error %v", err)
	}
	f.checkGone()
}

// TestKeyringLockedWhileStarting: an app that waits for a password isn't waited for.
func TestKeyringLockedWhileStarting(t *testing.T) {
	f := newFake(t)
	f.client.window = func(_ context.Context, o driver.Options) (window, error) {
		f.client.keyring.check = locked
		return &splash{fakeWindow{f, o}}, nil
	}
	if _, err := f.client.Open(context.Background(), f.batch); code.Of(err) != code.KeyringLocked {
		t.Errorf("error %v", err)
	}
	f.checkGone()
}

// TestKeyringGoneWithItsDesktop: a keyring that can't be asked any more isn't what went wrong, where its
// desktop ends.
func TestKeyringGoneWithItsDesktop(t *testing.T) {
	f := newFake(t)
	asked := make(chan struct{})
	f.client.window = func(_ context.Context, o driver.Options) (window, error) {
		f.client.keyring.check = func(context.Context, *dbus.Conn) error {
			close(asked)
			return code.Errorf(code.KeyringAbsent, "the bus is gone")
		}
		return &splash{fakeWindow{f, o}}, nil
	}
	go func() {
		<-asked
		f.desktop.end(code.Errorf(code.SessionFailed, "bus (dbus-daemon) ended"))
	}()
	if _, err := f.client.Open(context.Background(), f.batch); code.Of(err) != code.SessionFailed || !strings.Contains(err.Error(), "bus (dbus-daemon) ended") {
		t.Errorf("error %v", err)
	}
	f.checkGone()
}

// TestLastWord: a secret that the limit cuts in two isn't shown in part.
func TestLastWord(t *testing.T) {
	secrets := &redact.Set{}
	secrets.Add(secret)
	if got, want := lastWord(secrets, "first\n"+strings.Repeat("x", 295)+secret+"\n"), ": "+strings.Repeat("x", 295)+"[reda"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := lastWord(secrets, " \n"); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

// splash is a window that never gets any further.
type splash struct{ fakeWindow }

func (s *splash) Prepare(ctx context.Context, _ driver.Surface) (driver.Receipt, error) {
	<-ctx.Done()
	return driver.Receipt{Status: driver.Failed}, code.Errorf(code.StateTransitionUnobserved, "%w", ctx.Err())
}

// TestOpenCancelled: a batch whose end is wished for doesn't wait for its app.
func TestOpenCancelled(t *testing.T) {
	f := newFake(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	wish := errors.New("the user's wish")
	f.client.window = func(_ context.Context, o driver.Options) (window, error) {
		cancel(wish)
		return &splash{fakeWindow{f, o}}, nil
	}
	if _, err := f.client.Open(ctx, f.batch); !errors.Is(err, wish) {
		t.Errorf("error %v", err)
	}
	f.checkGone()
}

// TestEnvironmentContract: each variable's violation names it (contract §5).
func TestEnvironmentContract(t *testing.T) {
	p, err := newProfile(filepath.Join(t.TempDir(), "home"))
	must(t, err)
	good := func() environment { return newEnvironment(p, newFakeDesktop(t).env, nil) }
	if err := good().check(); err != nil {
		t.Fatal(err)
	}
	open := t.TempDir() // 0755
	must(t, os.Chmod(open, 0o755))
	for _, tc := range []struct{ name, value string }{
		{"HOME", ""}, {"HOME", "home"}, {"HOME", p.dir + "/"}, {"HOME", open}, {"XDG_RUNTIME_DIR", "run"}, {"XDG_RUNTIME_DIR", open},
		{"TMPDIR", "/tmp"}, {"TMPDIR", p.dir}, {"TMPDIR", p.dir + "/none"}, {"XDG_CONFIG_HOME", p.dir + "/../c"}, {"XDG_CONFIG_HOME", "/etc"},
		{"XDG_DATA_HOME", ""}, {"XDG_CACHE_HOME", "/var/cache"}, {"GNOME_KEYRING_CONTROL", "keyring"}, {"DISPLAY", ""},
		{"DBUS_SESSION_BUS_ADDRESS", ""}, {"AT_SPI_BUS_ADDRESS", "tcp:port=1"}, {"CODEX_HOME", "/tmp/.codex"},
	} {
		env := good()
		env[tc.name] = tc.value
		err := env.check()
		// A HOME that is wrong is no longer the one that the others are in.
		if code.Of(err) != code.EnvironmentInvalid || !strings.Contains(err.Error(), tc.name+": ") && tc.name != "HOME" {
			t.Errorf("%s=%q: error %v", tc.name, tc.value, err)
		}
	}
}

func TestSettings(t *testing.T) {
	for raw, want := range map[string]string{
		``:     "",
		`null`: "",
		`{"reasoningEffort": "ultra", "surface": "codex", "timeout": 1, "nativeMaxActions": 64, "provider": "openai", "correlation": "exact_prompt", "env": {"A": "b"}, "plugins": [], "requireMcpCalls": true}`: "",
		`{"configPath": "/home/u/.codex/config.toml"}`:                   "",
		`{"configPath": "/etc/codex.json"}`:                              "environment_invalid: clientOptions.configPath: ",
		`{"reasoningEffort": "none"}`:                                    `environment_invalid: clientOptions.reasoningEffort: "none" is none of low,`,
		`{"surface": "web"}`:                                             `environment_invalid: clientOptions.surface: "web" is none of chatgpt-work, codex`,
		`{"correlation": "prompt_marker"}`:                               "",
		`{"correlation": "marker"}`:                                      "environment_invalid: clientOptions.correlation: ",
		`{"provider": "azure"}`:                                          "environment_invalid: clientOptions.provider: ",
		`{"nativeMaxActions": 65}`:                                       "environment_invalid: clientOptions.nativeMaxActions: 65",
		`{"timeout": "1"}`:                                               "environment_invalid: clientOptions.timeout: a string can't be used here",
		`{"env": {"HOME": "/"}}`:                                         "environment_invalid: clientOptions.env: HOME is set by berth",
		`{"env": {"DISPLAY": ":1"}}`:                                     "environment_invalid: clientOptions.env: DISPLAY is set by berth",
		`{"env": {"MST_X": "1"}}`:                                        "environment_invalid: clientOptions.env: MST_X is set by berth",
		`{"plugins": ["x"]}`:                                             "environment_invalid: clientOptions.plugins: a string can't be used here",
		`{"plugins": [{"name": "x", "marketplace": {"source": "o/r"}}]}`: "plugin_setup_failed: clientOptions.plugins: the Git marketplace of x needs a marketplace.ref",
	} {
		s, err := ParseSettings(json.RawMessage(raw))
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", raw, err, want)
		}
		if err == nil && s.Surface == "" {
			t.Errorf("%s: no surface", raw)
		}
	}
}
