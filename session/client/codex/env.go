package codex

import (
	"maps"
	"slices"

	"github.com/berth-run/berth/session/client"
)

// environ is all of Codex's environment but for the mark: nothing is inherited from the worker.
func environ(h home, servers []client.Server, extra map[string]string) []string {
	vars := baseEnv(h)
	vars["CODEX_HOME"] = h.codexHome()
	maps.Copy(vars, extra)
	for i, s := range servers {
		if s.URL != "" && s.Token != "" {
			vars[tokenVar(i)] = s.Token
		}
	}
	return flatten(vars)
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

func flatten(vars map[string]string) []string {
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}
