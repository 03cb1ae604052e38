package evalconfig

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt"
)

// TestChatGPTAgrees: what a config may say is what the client in the shard takes, as with Codex.
func TestChatGPTAgrees(t *testing.T) {
	for name, tc := range map[string]struct {
		model, options string
		want           bool
	}{
		"plain":                   {"gpt-6-luna", `{}`, true},
		"all":                     {"m", `{"surface": "codex", "provider": "openai", "correlation": "exact_prompt", "nativeMaxActions": 64, "plugins": []}`, true},
		"model of a provider":     {"openai/gpt-5.5", `{}`, false},
		"an effort":               {"m", `{"reasoningEffort": "ultra"}`, true},
		"no effort":               {"m", `{"reasoningEffort": "minimal"}`, false},
		"a surface":               {"m", `{"surface": "chatgpt-work"}`, true},
		"no surface":              {"m", `{"surface": "web"}`, false},
		"another provider":        {"m", `{"provider": "azure"}`, false},
		"a marker in the prompt":  {"m", `{"correlation": "prompt_marker"}`, true},
		"no correlation":          {"m", `{"correlation": "none"}`, false},
		"longest timeout":         {"m", `{"timeout": 2147483647}`, true},
		"timeout too long":        {"m", `{"timeout": 2147483648}`, false},
		"too many actions":        {"m", `{"nativeMaxActions": 65}`, false},
		"negative actions":        {"m", `{"nativeMaxActions": -1}`, false},
		"a plugin":                {"m", `{"plugins": [{"name": "x", "marketplace": {"source": "/opt/market"}}]}`, true},
		"a plugin from Git":       {"m", `{"plugins": [{"name": "x", "marketplace": {"source": "o/r", "ref": "0123456789012345678901234567890123456789"}}]}`, true},
		"a plugin from any Git":   {"m", `{"plugins": [{"name": "x", "marketplace": {"source": "o/r"}}]}`, false},
		"a plugin twice":          {"m", `{"plugins": [{"name": "x", "marketplace": {"source": "/a"}}, {"name": "x", "marketplace": {"source": "/b"}}]}`, false},
		"a plugin by its name":    {"m", `{"plugins": ["x@y"]}`, false},
		"a plugin of no market":   {"m", `{"plugins": [{"name": "x"}]}`, false},
		"a plugin's name":         {"m", `{"plugins": [{"name": "-x", "marketplace": {"source": "/a"}}]}`, false},
		"a plugin as an option":   {"m", `{"plugins": [{"name": "x", "marketplace": {"source": "--ref"}}]}`, false},
		"a plugin's servers":      {"m", `{"plugins": [{"name": "x", "marketplace": {"source": "/a"}, "mcp": {}}]}`, false},
		"the config":              {"m", `{"configPath": "/home/u/.codex/config.toml"}`, true},
		"another config":          {"m", `{"configPath": "/home/u/config.toml"}`, false},
		"unknown option":          {"m", `{"effort": "high"}`, false},
		"a variable":              {"m", `{"env": {"A_B": "c"}}`, true},
		"a variable's bad name":   {"m", `{"env": {"A-B": "c"}}`, false},
		"HOME":                    {"m", `{"env": {"HOME": "/"}}`, false},
		"PATH":                    {"m", `{"env": {"PATH": "/"}}`, false},
		"DISPLAY":                 {"m", `{"env": {"DISPLAY": ":1"}}`, false},
		"AT_SPI_BUS_ADDRESS":      {"m", `{"env": {"AT_SPI_BUS_ADDRESS": "unix:path=/x"}}`, false},
		"XDG_CACHE_HOME":          {"m", `{"env": {"XDG_CACHE_HOME": "/x"}}`, false},
		"MST_ variable":           {"m", `{"env": {"MST_X": "x"}}`, false},
		"the planner's, on macOS": {"m", `{"computerUseModel": "m"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			config := fmt.Sprintf(`{"name": "e", "datasets": ["cases.json"], "client": %q, "model": %q, "clientOptions": %s}`, chatgpt.Name, tc.model, tc.options)
			if _, err := resolve(t, config, nil, ResolveOptions{}); (err == nil) != tc.want {
				t.Errorf("the config: %v", err)
			}
			batch := client.Batch{
				Model: tc.model, Options: json.RawMessage(tc.options),
				Inference: client.Inference{Mode: client.ModeGateway, BaseURL: "http://127.0.0.1:1/v1", TokenFile: "/token"},
			}
			if _, err := chatgpt.CheckBatch(batch); (err == nil) != tc.want {
				t.Errorf("the client: %v", err)
			}
		})
	}
}
