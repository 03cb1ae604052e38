package e2e

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/berth-run/berth/internal/results"
)

// broken is a script whose gateway fails one kind of turn.
const broken = `{"models": ["gpt-5.5", "gpt-6-luna"], "rules": [
  {"match": {"contains": "say"}, "faults": [{"status": 400, "message": "no"}], "steps": [{"text": "x"}]},
  {"steps": [{"text": "{{prompt}}"}]}]}`

// TestSchemas checks the files of runs in which everything came about that a file can tell: servers,
// commands, both models, a comparison, a failed case, a case that infrastructure lost, a selection.
func TestSchemas(t *testing.T) {
	p := agreeProject(t)
	p.Rehearse(fmt.Sprintf(answers, "yes")).Expect(t, 0)
	p.Rehearse(fmt.Sprintf(answers, "no")).Expect(t, 1)
	p.Rehearse(broken, "--case", "text", "--case", "command").Expect(t, 1)
	kinds := p.CheckSchemas()
	want := []string{
		results.KindLatest, results.KindResults, results.KindRun, results.KindScore, results.KindSummary, results.KindTrial,
	}
	if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, want) {
		t.Errorf("kinds %v, want %v", got, want)
	}
}
