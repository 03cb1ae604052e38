package eval

import (
	"errors"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/session/client"
)

func TestNetwork(t *testing.T) {
	stdio := client.Server{Transport: "stdio", Command: "/opt/notes", Args: []string{"--name", "notes"}}
	arg, env, http := stdio, stdio, client.Server{Transport: "http", URL: "https://mcp.test"}
	arg.Args = []string{"--upstream=https://mcp.test"}
	env.Env = map[string]string{"UPSTREAM": "http://mcp.test"}
	tests := map[string]struct {
		asked, mode string
		servers     []client.Server
		want        string
	}{
		"nothing calls out": {"auto", client.ModeGateway, []client.Server{stdio}, "none"},
		"no servers":        {"auto", client.ModeGateway, nil, "none"},
		"API key":           {"auto", client.ModeAPIKey, nil, "engine"},
		"http server":       {"auto", client.ModeGateway, []client.Server{stdio, http}, "engine"},
		"URL in arguments":  {"auto", client.ModeGateway, []client.Server{arg}, "engine"},
		"URL in env":        {"auto", client.ModeGateway, []client.Server{env}, "engine"},
		"asked for none":    {"none", client.ModeGateway, []client.Server{http}, "none"},
		"asked for engine":  {"engine", client.ModeGateway, nil, "engine"},
	}
	for name, tt := range tests {
		v := evalconfig.Variant{}
		for _, s := range tt.servers {
			v.Servers = append(v.Servers, evalconfig.Server{Server: s})
		}
		e := &evalconfig.Eval{Variants: []evalconfig.Variant{{}, v}}
		if got, err := network(tt.asked, e, tt.mode); got != tt.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tt.want)
		}
	}
	if _, err := network("none", &evalconfig.Eval{}, client.ModeAPIKey); !errors.Is(err, runner.ErrOption) {
		t.Errorf("no network and no gateway: got %v, want ErrOption", err)
	}
}

// TestHasNetwork: what no shard could have ends the run before there is one, with the engine's reason.
func TestHasNetwork(t *testing.T) {
	without := backends.Info{Name: "e", NoNetwork: "no plugins: install them", Capabilities: backends.Capabilities{Isolation: true}}
	with := backends.Info{Capabilities: backends.Capabilities{Isolation: true, NetworkEngine: true}}
	tests := map[string]struct {
		net, asked string
		info       backends.Info
		want       string
	}{
		"none":          {"none", "auto", without, ""},
		"can":           {"engine", "engine", with, ""},
		"no containers": {"engine", "auto", backends.Info{}, ""},
		"asked for":     {"engine", "engine", without, "network=engine: no plugins: install them"},
		"needed":        {"engine", "auto", without, "must call out by itself, so its shards are to have the engine's network (network=auto): no plugins: install them"},
	}
	for name, tt := range tests {
		err := hasNetwork(tt.net, tt.asked, tt.info)
		if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, backends.ErrUnsupported) || !strings.HasSuffix(err.Error(), tt.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLimitsAreNamed(t *testing.T) {
	e := &evalconfig.Eval{Config: &evalconfig.Config{Limits: evalconfig.Limits{Providers: map[string]int{"openai": 4}, Servers: map[string]int{"wiki": 2}}}}
	if got := limits(e); len(got) != 2 || got["provider:openai"] != 4 || got["server:wiki"] != 2 {
		t.Errorf("got %v", got)
	}
}
