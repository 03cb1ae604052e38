package codexconfig

import (
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

func TestMerge(t *testing.T) {
	const before = `
model = "old"
theme = "dark"
[features]
workspace_dependencies = true
other = true
[desktop]
mode = "work"
[plugins."a@b"]
enabled = true
[mcp_servers.notes]
command = "/old"
cwd = "/old"
[mcp_servers.mine]
url = "http://mine"
`
	const ours = `
model = "new"
[features]
workspace_dependencies = false
[plugins."c@d"]
enabled = false
[mcp_servers.notes]
url = "http://notes"
`
	const want = `
model = "new"
theme = "dark"
[features]
workspace_dependencies = false
other = true
[desktop]
mode = "work"
[plugins."a@b"]
enabled = true
[plugins."c@d"]
enabled = false
[mcp_servers.notes]
url = "http://notes"
[mcp_servers.mine]
url = "http://mine"
`
	got, err := Merge([]byte(before), []byte(ours))
	must(t, err)
	if d := cmp.Diff(decoded(t, want), decoded(t, string(got))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got, err := Merge(nil, []byte(ours)); err != nil || string(got) != ours {
		t.Errorf("with nothing before: %v\n%s", err, got)
	}
	if _, err := Merge([]byte("model = "), []byte(ours)); err == nil || !strings.Contains(err.Error(), "what is in config.toml") {
		t.Errorf("with half a config before: %v", err)
	}
	if _, err := Merge([]byte(`a = "`+strings.Repeat("x", maxConfig)+`"`), []byte(ours)); err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("with too much before: %v", err)
	}
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	_, err := toml.Decode(text, &m)
	must(t, err)
	return m
}
