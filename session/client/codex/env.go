package codex

import (
	"maps"

	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/codexconfig"
	"github.com/berth-run/berth/session/client/engine"
)

// environ is all of Codex's environment but for the mark: nothing is inherited from the worker.
func environ(h home, servers []client.Server, extra map[string]string) []string {
	vars := baseEnv(h)
	vars["CODEX_HOME"] = h.codexHome()
	maps.Copy(vars, extra)
	maps.Copy(vars, codexconfig.TokenEnv(servers))
	return engine.Environ(vars)
}

// baseEnv is what every program of a trial gets.
func baseEnv(h home) map[string]string {
	return map[string]string{
		"HOME":   h.userHome(),
		"PATH":   "/usr/local/bin:/usr/bin:/bin",
		"LANG":   "C.UTF-8",
		"SHELL":  "/bin/bash",
		"TMPDIR": h.tmp(),
	}
}
