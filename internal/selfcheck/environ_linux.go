package selfcheck

import (
	"os"
	"slices"
	"strings"

	"github.com/berth-run/berth/internal/execkill"
)

// engineVars are what engines add to every container or exec by themselves.
var engineVars = []string{"HOME", "HOSTNAME", "PATH", "TERM", "container", execkill.EnvVar}

// checkEnviron looks for variables that nobody asked for. An engine that hands its own on would give
// the agent whatever the user has exported. Only names are told.
func checkEnviron(c *checks, e Expect) {
	got := strings.Join(unexpectedVars(os.Environ(), e.Env), " ")
	c.add("environment", got == "", "", got)
}

func unexpectedVars(environ, known []string) []string {
	var found []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if !slices.Contains(known, name) && !slices.Contains(engineVars, name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}
