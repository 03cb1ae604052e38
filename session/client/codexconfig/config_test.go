package codexconfig

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/session/client"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestConfig(t *testing.T) {
	tests := []struct {
		name string
		text func(*testing.T) []byte
	}{
		{"gateway", func(*testing.T) []byte { return Sample() }},
		{"api-key", func(t *testing.T) []byte {
			b, err := New(Settings{
				Credentials: InFile, Model: "gpt-6-luna", Workspace: `/w/"odd"`, Inference: client.Inference{Mode: client.ModeAPIKey, TokenFile: "/run/key"},
				Servers:   []client.Server{{Label: "notes", Command: "/bin/notes", MinTools: 3, Env: map[string]string{"A": "b"}}},
				ServerEnv: map[string]string{"BERTH_EXEC_ID": "mark"},
			})
			must(t, err)
			return b
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, golden := tt.text(t), "testdata/"+tt.name+".toml"
			if *update {
				must(t, os.WriteFile(golden, got, 0o644))
			}
			want, err := os.ReadFile(golden)
			must(t, err)
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("%s (-want +got):\n%s", golden, d)
			}
		})
	}
}

func TestConfigIsBounded(t *testing.T) {
	_, err := New(Settings{Servers: []client.Server{{Label: "a", Command: "/a", Args: []string{strings.Repeat("x", maxConfig)}}}})
	if err == nil || !strings.Contains(err.Error(), "the limit is 131072") {
		t.Errorf("error %v", err)
	}
}

func TestTokenEnv(t *testing.T) {
	got := TokenEnv([]client.Server{{Label: "a", Command: "/a", Token: "no"}, {Label: "b", URL: "http://b", Token: "yes"}, {Label: "c", URL: "http://c"}})
	if d := cmp.Diff(map[string]string{"MST_CHATGPT_MCP_TOKEN_1": "yes"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
