package chatgpt

import (
	"maps"
	"path/filepath"
	"strings"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/engine"
	"github.com/berth-run/berth/session/client/private"
)

// fixed is the same for every app (contract §4.1).
var fixed = map[string]string{
	"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8",
	"NO_AT_BRIDGE": "0", "ACCESSIBILITY_ENABLED": "1", "GTK_MODULES": "gail:atk-bridge",
}

// places are the app's folders.
func places(p *profile) map[string]string {
	return map[string]string{
		"HOME": p.dir, "TMPDIR": p.tmp(), "CODEX_HOME": p.codexHome(),
		"XDG_CONFIG_HOME": filepath.Join(p.dir, ".config"),
		"XDG_DATA_HOME":   filepath.Join(p.dir, ".local", "share"),
		"XDG_CACHE_HOME":  filepath.Join(p.dir, ".cache"),
	}
}

// isReserved tells the variables that berth sets itself, or that its clean-up rests on.
func isReserved(name string) bool {
	_, isFixed := fixed[name]
	_, isPlace := places(&profile{})[name]
	return isFixed || isPlace || isAddress(name) || strings.HasPrefix(name, "BERTH_") || strings.HasPrefix(name, "MST_")
}

// isAddress tells the variables by which an app finds its desktop.
func isAddress(name string) bool {
	switch name {
	case "DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "AT_SPI_BUS_ADDRESS", "GNOME_KEYRING_CONTROL":
		return true
	}
	return false
}

// environment is what the app is started with. Nothing is inherited from the worker.
type environment map[string]string

func newEnvironment(p *profile, desktop []string, extra map[string]string) environment {
	env := environment{}
	maps.Copy(env, extra)
	maps.Copy(env, fixed)
	maps.Copy(env, places(p))
	for _, kv := range desktop {
		if name, value, _ := strings.Cut(kv, "="); isAddress(name) {
			env[name] = value
		}
	}
	return env
}

// plain is for all that needs no MCP token: a second start, a login.
func (e environment) plain() []string { return engine.Environ(e) }

// withTokens is for the app, and for the app server that is probed in its place.
func (e environment) withTokens(tokens map[string]string) []string {
	all := maps.Clone(e)
	maps.Copy(all, tokens)
	return engine.Environ(all)
}

// The environment contract (§5): what each variable must be.
var (
	paths   = []string{"HOME", "XDG_RUNTIME_DIR", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "GNOME_KEYRING_CONTROL"}
	inHome  = []string{"TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"}
	buses   = []string{"DBUS_SESSION_BUS_ADDRESS", "AT_SPI_BUS_ADDRESS"}
	folders = []string{"HOME", "TMPDIR", "XDG_RUNTIME_DIR"}
)

// check holds the environment against the contract; the error names the variable.
func (e environment) check() error {
	for _, name := range paths {
		if err := checkPath(name, e[name]); err != nil {
			return err
		}
	}
	for _, name := range inHome {
		if rel, err := filepath.Rel(e["HOME"], e[name]); err != nil || rel == "." || !filepath.IsLocal(rel) {
			return invalid(name, "%q isn't inside HOME", e[name])
		}
	}
	for _, name := range buses {
		if !strings.HasPrefix(e[name], "unix:") {
			return invalid(name, "%q is no unix: address", e[name])
		}
	}
	switch {
	case e["DISPLAY"] == "":
		return invalid("DISPLAY", "it's empty")
	case e["CODEX_HOME"] != filepath.Join(e["HOME"], ".codex"):
		return invalid("CODEX_HOME", "it must be $HOME/.codex")
	}
	for _, name := range folders {
		if err := private.CheckDir(e[name]); err != nil {
			return invalid(name, "%w", err)
		}
	}
	return nil
}

// checkPath makes sure that a variable is an absolute path in its shortest form.
func checkPath(name, value string) error {
	if !filepath.IsAbs(value) || filepath.Clean(value) != value {
		return invalid(name, "%q is no absolute path in its shortest form", value)
	}
	return nil
}

// invalid is a contract's violation by the variable called name.
func invalid(name, format string, args ...any) error {
	return code.Errorf(code.EnvironmentInvalid, name+": "+format, args...)
}
