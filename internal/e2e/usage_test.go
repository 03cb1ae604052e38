package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
)

// TestBadInput gives what can't be run to berth. It says so before it looks for an engine: one line
// that names the cause, with file and line where there is one, and status 2.
func TestBadInput(t *testing.T) {
	berth := rig.BerthBinary(t)
	const eval = `{"name": "e", "datasets": ["./cases.json"], "client": "berth/client/codex", "model": "gpt-5.5"}`
	const cases = `{"name": "c", "cases": [{"id": "a", "input": "x"}]}`
	with := func(more string) string { return strings.TrimSuffix(eval, "}") + ",\n" + more + "}" }
	tests := map[string]struct {
		eval, cases string
		args        []string
		want        string
	}{
		"unknown key":      {eval: with(`"trails": 3`), want: `eval.json:2:1: "trails" isn't a key of an eval config; did you mean "trials"?`},
		"renamed key":      {eval: with(`"arms": []`), want: `eval.json:2:1: "arms" is an old name; write "variants"`},
		"old client key":   {eval: with(`"host": {}`), want: `eval.json:2:1: "host"`},
		"one id twice":     {cases: `{"name": "c", "cases": [{"id": "a", "input": "x"},` + "\n" + `{"id": "A", "input": "y"}]}`, want: "cases.json:2"},
		"empty prompt":     {cases: `{"name": "c", "cases": [{"id": "a", "input": " "}]}`, want: "cases.json:1"},
		"not JSON":         {eval: `{"name": `, want: "eval.json:1"},
		"unknown option":   {args: []string{"--runner-option", "shard=2"}, want: `unknown key "shard"`},
		"no such value":    {args: []string{"--runner-option", "keep=yes"}, want: "keep=yes: want one of never, failed, always"},
		"no such case":     {args: []string{"--case", "b"}, want: `"b"`},
		"renamed flag":     {args: []string{"--arm", "x"}, want: "--arm: it was renamed: use --variant"},
		"no such runner":   {args: []string{"--runner", "docker"}, want: "--runner podman"},
		"script not there": {args: []string{"--script", "none.json"}, want: "none.json"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, body := range map[string]string{"eval.json": or(tt.eval, eval), "cases.json": or(tt.cases, cases)} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(body), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(berth, append([]string{"run", "--config", "eval.json"}, tt.args...)...)
			cmd.Dir, cmd.Env = dir, rig.Environment()
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, _ := cmd.Output()
			got := strings.TrimSpace(stderr.String())
			if cmd.ProcessState.ExitCode() != 2 || len(out) > 0 || !strings.HasPrefix(got, "berth: ") ||
				!strings.Contains(got, tt.want) || strings.Contains(got, "\n") {
				t.Errorf("%v\n%s%s\nwant %s", cmd.ProcessState, out, got, tt.want)
			}
			if _, err := os.Stat(filepath.Join(dir, ".mcp-test-results")); err == nil {
				t.Error("it made a folder for results")
			}
		})
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// TestNetworkHelper: berth can be its own helper in an engine's namespaces, and takes requests only.
func TestNetworkHelper(t *testing.T) {
	cmd := exec.Command(rig.BerthBinary(t), "berth-network-helper")
	cmd.Stdin = strings.NewReader("no request")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.HasPrefix(string(out), "reading a request: ") {
		t.Errorf("%v: %s", err, out)
	}
}
