package evalconfig

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/codex"
)

// codexSettings is one variant, to be said in a config and to the client.
type codexSettings struct {
	model, options string
	labels         []string
}

func (s codexSettings) config(t *testing.T) string {
	t.Helper()
	model, err := json.Marshal(s.model)
	if err != nil {
		t.Fatal(err)
	}
	servers := make([]string, len(s.labels))
	for i, l := range s.labels {
		servers[i] = fmt.Sprintf(`%q: {"transport": "stdio", "command": "/bin/x"}`, l)
	}
	return fmt.Sprintf(`{"name": "e", "datasets": ["cases.json"], "client": %q, "model": %s, "clientOptions": %s, "servers": {%s}}`,
		codex.Name, model, s.options, strings.Join(servers, ", "))
}

func (s codexSettings) batch() client.Batch {
	b := client.Batch{
		Model: s.model, Options: json.RawMessage(s.options),
		Inference: client.Inference{Mode: client.ModeGateway, BaseURL: "http://127.0.0.1:1/v1", TokenFile: "/token"},
	}
	for _, l := range s.labels {
		b.Servers = append(b.Servers, client.Server{Label: l, Transport: "stdio", Command: "/bin/x"})
	}
	return b
}

// TestCodexAgrees: what a config may say is what the client in the shard takes. A setting that only
// the client refuses would cost a shard's start to find out.
func TestCodexAgrees(t *testing.T) {
	for name, tc := range map[string]struct {
		codexSettings
		want bool
	}{
		"plain":                 {codexSettings{"gpt-5.5", `{}`, []string{"wiki", "tracker"}}, true},
		"model of a provider":   {codexSettings{"openai/gpt-5.5@2026", `{}`, nil}, true},
		"model with a space":    {codexSettings{"gpt 5.5", `{}`, nil}, false},
		"model with a quote":    {codexSettings{`gpt"5`, `{}`, nil}, false},
		"an effort":             {codexSettings{"m", `{"reasoningEffort": "xhigh"}`, nil}, true},
		"no effort":             {codexSettings{"m", `{"reasoningEffort": "much"}`, nil}, false},
		"longest timeout":       {codexSettings{"m", `{"timeout": 2147483647}`, nil}, true},
		"timeout too long":      {codexSettings{"m", `{"timeout": 2147483648}`, nil}, false},
		"timeout overflows":     {codexSettings{"m", `{"timeout": 9007199254740991}`, nil}, false},
		"negative timeout":      {codexSettings{"m", `{"timeout": -1}`, nil}, false},
		"timeout as text":       {codexSettings{"m", `{"timeout": "1"}`, nil}, false},
		"unknown option":        {codexSettings{"m", `{"surface": "codex"}`, nil}, false},
		"a variable":            {codexSettings{"m", `{"env": {"A_B": "c"}}`, nil}, true},
		"a variable's bad name": {codexSettings{"m", `{"env": {"A-B": "c"}}`, nil}, false},
		"a variable with NUL":   {codexSettings{"m", `{"env": {"A": "c\u0000"}}`, nil}, false},
		"HOME":                  {codexSettings{"m", `{"env": {"HOME": "/"}}`, nil}, false},
		"CODEX_HOME":            {codexSettings{"m", `{"env": {"CODEX_HOME": "/"}}`, nil}, false},
		"TMPDIR":                {codexSettings{"m", `{"env": {"TMPDIR": "/"}}`, nil}, false},
		"BERTH_ variable":       {codexSettings{"m", `{"env": {"BERTH_EXEC_ID": "x"}}`, nil}, false},
		"MST_ variable":         {codexSettings{"m", `{"env": {"MST_X": "x"}}`, nil}, false},
		"label with a digit":    {codexSettings{"m", `{}`, []string{"1st"}}, false},
		"label too long":        {codexSettings{"m", `{}`, []string{strings.Repeat("a", 65)}}, false},
		"label codex":           {codexSettings{"m", `{}`, []string{"Codex"}}, false},
		"label cua_repl":        {codexSettings{"m", `{}`, []string{"cua_repl"}}, false},
		"labels by case":        {codexSettings{"m", `{}`, []string{"wiki", "Wiki"}}, false},
		"labels by separator":   {codexSettings{"m", `{}`, []string{"my-wiki", "my_wiki"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			config, batch := tc.config(t), tc.batch()
			if _, err := resolve(t, config, nil, ResolveOptions{}); (err == nil) != tc.want {
				t.Errorf("the config: %v", err)
			}
			if _, err := codex.CheckBatch(batch); (err == nil) != tc.want {
				t.Errorf("the client: %v", err)
			}
		})
	}
}
