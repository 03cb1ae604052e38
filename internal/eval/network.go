package eval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/session/client"
)

// network settles network=auto: a shard gets the engine's network only when something in it must
// call out by itself. That is the app in api-key mode, an http server, a stdio server that is told a
// URL, or a plugin from Git. A gateway is reached through the link in any case.
func network(asked string, e *evalconfig.Eval, mode string) (string, error) {
	switch {
	case asked == runner.NetworkNone && mode == client.ModeAPIKey:
		return "", fmt.Errorf("%w: network=none, and without a gateway (OPENAI_BASE_URL) the app calls OpenAI by itself; leave network out, or set a gateway", runner.ErrOption)
	case asked != runner.NetworkAuto:
		return asked, nil
	case mode == client.ModeAPIKey:
		return backends.NetworkEngine, nil
	}
	for i := range e.Variants {
		if fetchesPlugins(e.Variants[i].Options) {
			return backends.NetworkEngine, nil
		}
		for _, s := range e.Variants[i].Servers {
			if callsOut(s.Server) {
				return backends.NetworkEngine, nil
			}
		}
	}
	return backends.NetworkNone, nil
}

// hasNetwork refuses what no shard of the engine could have.
func hasNetwork(net, asked string, info backends.Info) error {
	can := info.Capabilities
	if net != backends.NetworkEngine || can.NetworkEngine || !can.Isolation {
		return nil
	}
	why := "network=engine"
	if asked == runner.NetworkAuto {
		why = "something in this eval must call out by itself, so its shards are to have the engine's network (network=auto)"
	}
	return fmt.Errorf("%w: %s: %s", backends.ErrUnsupported, why, info.NoNetwork)
}

// fetchesPlugins tells whether a variant's plugins come from Git.
func fetchesPlugins(options json.RawMessage) bool {
	var o struct{ Plugins []client.Plugin }
	_ = json.Unmarshal(options, &o) // they were checked before
	return slices.ContainsFunc(o.Plugins, func(p client.Plugin) bool { return !p.Marketplace.Local() })
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
