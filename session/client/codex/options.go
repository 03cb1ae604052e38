package codex

import (
	"encoding/json"
	"strings"

	"github.com/berth-run/berth/session/client/options"
)

// Efforts are the reasoning efforts that are passed on. Codex forwards any word to a model that it
// doesn't know, so they're checked here.
var Efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"}

// Options are a variant's clientOptions for this client.
type Options struct{ options.Common }

// ParseOptions reads clientOptions strictly. Errors name the key and what it may be.
func ParseOptions(raw json.RawMessage) (Options, error) {
	var o Options
	if err := options.Decode(raw, &o, Name, "reasoningEffort, timeout, requireMcpCalls and env"); err != nil {
		return o, err
	}
	return o, o.Check(Efforts, isReserved)
}

// isReserved tells the variables that a trial's isolation and clean-up rest on.
func isReserved(name string) bool {
	return name == "HOME" || name == "CODEX_HOME" || name == "TMPDIR" ||
		strings.HasPrefix(name, "BERTH_") || strings.HasPrefix(name, "MST_")
}
