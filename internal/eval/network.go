package eval

import (
	"strings"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/session/client"
)

// network settles network=auto: a shard gets the engine's network only when something in it must
// call out by itself. That is the app in api-key mode, an http server, or a stdio server that is
// told a URL. The model is reached through the link in any case.
func network(asked string, e *evalconfig.Eval, mode string) string {
	if asked != runner.NetworkAuto {
		return asked
	}
	if mode == client.ModeAPIKey {
		return backends.NetworkEngine
	}
	for i := range e.Variants {
		for _, s := range e.Variants[i].Servers {
			if callsOut(s.Server) {
				return backends.NetworkEngine
			}
		}
	}
	return backends.NetworkNone
}

func callsOut(s client.Server) bool {
	if s.Transport == "http" {
		return true
	}
	for _, a := range s.Args {
		if hasURL(a) {
			return true
		}
	}
	for _, v := range s.Env {
		if hasURL(v) {
			return true
		}
	}
	return false
}

func hasURL(s string) bool {
	return strings.Contains(s, "http://") || strings.Contains(s, "https://")
}
