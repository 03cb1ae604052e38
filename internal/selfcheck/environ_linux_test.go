package selfcheck

import (
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	for name, tt := range map[string]struct {
		extra string
		want  string
	}{
		"as asked":      {"", ""},
		"the engine's":  {"container=podman HOSTNAME=berth TERM=xterm", ""},
		"the user's":    {"OPENAI_API_KEY=s3cret https_proxy=http://u:p@h", "OPENAI_API_KEY https_proxy"},
		"a known one's": {"A=other", ""},
	} {
		got := unexpectedVars(append([]string{"A=1", "B=2"}, strings.Fields(tt.extra)...), []string{"A", "B"})
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %s", name, got, tt.want)
		}
	}
	t.Setenv("LEAKED", "value")
	report := Run(t.Context(), Expect{Env: []string{"A"}})
	for _, c := range report.Protections {
		if c.Name == "environment" && !c.OK && strings.Contains(c.Got, "LEAKED") && !strings.Contains(c.Got, "value") {
			return
		}
	}
	t.Errorf("LEAKED wasn't found: %v", report.Protections)
}
