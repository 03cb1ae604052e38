package rig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/leak"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/results"
)

// TokenFile is the one place where a shard may have its credential.
const TokenFile = "/run/berth/tokens/inference"

// Printing is a script whose model has the agent print its token in every form that a shell can give
// it, and then says it.
const Printing = `{"models": ["gpt-5.5", "gpt-6-luna"], "rules": [
  {"match": {"contains": "print it"}, "steps": [
    {"text": "I look.", "command": {"cmd": "t=$(cat ` + TokenFile + `); echo $t; for p in '' x xx; do printf %s%s \"$p\" $t | base64 -w0; echo; done; printf %s $t | od -An -v -tx1 | tr -d ' \\n'; echo; env; cat ~/.codex/config.toml >&2"}},
    {"text": "It is {{output}}"}]},
  {"steps": [{"text": "{{prompt}}"}]}]}`

// forms are how often the token is in what Printing prints.
const forms = 5

// Legal is the token's place as a finding names it.
const Legal = "shard: /run/berth: tokens/inference"

// WantLooked checks that something was read of each place.
func WantLooked(t *testing.T, s *leak.Scanner, places ...string) {
	t.Helper()
	for _, place := range places {
		if s.Looked(place) == 0 {
			t.Errorf("nothing was read of %q", place)
		}
	}
}

// CheckPrinted checks that the agents did print, so what wasn't found was masked and not absent.
func CheckPrinted(t *testing.T, g *Gate) {
	t.Helper()
	turns := map[string]bool{} // Codex itself may repeat a request
	for _, e := range g.Entries() {
		if strings.Count(e.Output, redact.Mask) >= forms {
			turns[e.TurnID] = true
		}
	}
	if n := len(turns); n != 2 {
		t.Errorf("%d turns in the gateway's log have a tool's output with the token masked, want one a variant:\n%s", n, g.Logged())
	}
}

// CheckMasked checks that nor was it absent from the results, and that the evidence has it masked.
func CheckMasked(t *testing.T, p *Project, runID string) {
	t.Helper()
	run, err := results.Open(p.Path("out"), runID)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := run.Trials()
	if err != nil {
		t.Fatal(err)
	}
	for k, trial := range trials {
		if k.CaseID != "prints" {
			continue
		}
		if n := strings.Count(trial.Trace.FinalText, redact.Mask); n < forms {
			t.Errorf("%v: the final text has %d masks, want %d: %s", k, n, forms, trial.Trace.FinalText)
		}
	}
	rollouts, err := filepath.Glob(p.Path("out/runs/" + runID + "/artifacts/*/*/prints-*/matched-*"))
	if err != nil || len(rollouts) != 2 {
		t.Fatalf("rollouts %v, %v", rollouts, err)
	}
	for _, path := range rollouts {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(body), redact.Mask); n < 2*forms { // the output, and the text
			t.Errorf("%s has %d masks", path, n)
		}
	}
}
