package eval

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/berth-run/berth/internal/cause"
	"github.com/berth-run/berth/internal/results"
)

// ErrNoTrial: a run has no such trial.
var ErrNoTrial = errors.New("no such trial")

// Question asks for a run's trials; what is empty, or negative, may be anything.
type Question struct {
	Case, Variant string
	Trial, Shard  int
}

// Explained is what is there of one trial, and why it most likely failed.
type Explained struct {
	RunID   string `json:"runId"`
	Variant string `json:"variant"`
	CaseID  string `json:"caseId"`
	Trial   int    `json:"trial"`
	// Failed tells whether the trial did; Error is its own word on that.
	Failed      bool   `json:"failed"`
	FailureKind string `json:"failureKind,omitempty"`
	FailureCode string `json:"failureCode,omitempty"`
	Error       string `json:"error,omitempty"`
	Submitted   bool   `json:"submitted"`
	// Files are relative to Dir, the run's folder.
	Dir   string             `json:"dir"`
	Files []results.Artifact `json:"files"`
	// Cause is judged from the files alone; nil for a trial that didn't fail.
	Cause *cause.Cause `json:"cause,omitempty"`
	// Redacted: the run stores no responses, so records and trees are there without them.
	Redacted bool `json:"redacted,omitempty"`
}

// Explain looks at a run's trials that failed; at those that are asked for, however they ended.
func Explain(run *results.Run, q Question) ([]Explained, error) {
	trials, err := run.Trials()
	if err != nil {
		return nil, err
	}
	var all []Explained
	for _, t := range trials {
		if !q.means(t) {
			continue
		}
		if e := explain(run, t); q.Shard < 0 || e.from(q.Shard) {
			all = append(all, e)
		}
	}
	if q.Case != "" && len(all) == 0 {
		return nil, fmt.Errorf("%w: %q in %s; berth evidence %s lists those that failed", ErrNoTrial, q.Case, run.Record().RunID, run.Record().RunID)
	}
	slices.SortFunc(all, func(a, b Explained) int {
		return cmp.Or(cmp.Compare(a.Variant, b.Variant), cmp.Compare(a.CaseID, b.CaseID), cmp.Compare(a.Trial, b.Trial))
	})
	return all, nil
}

func (q Question) means(t *results.Trial) bool {
	return (q.Case == "" && t.Error != "" || q.Case == t.CaseID) &&
		(q.Variant == "" || q.Variant == t.Variant) && (q.Trial < 0 || q.Trial == t.Trial)
}

func (e Explained) from(shard int) bool {
	return slices.ContainsFunc(e.Files, func(a results.Artifact) bool { return a.Shard == shard })
}

func explain(run *results.Run, t *results.Trial) Explained {
	e := Explained{
		RunID: run.Record().RunID, Variant: t.Variant, CaseID: t.CaseID, Trial: t.Trial,
		Failed: t.Error != "", FailureKind: t.FailureKind(), FailureCode: t.FailureCode(), Error: t.Error,
		Dir: run.Dir, Files: run.Artifacts(t), Redacted: run.Record().Redacted,
	}
	e.Submitted, _ = t.ClientMetadata["submitted"].(bool)
	if !e.Failed {
		return e
	}
	var paths []string
	for _, a := range e.Files {
		if a.State != results.ArtifactMissing {
			paths = append(paths, a.Path)
		}
	}
	if root, err := os.OpenRoot(run.Dir); err == nil { // what a shard sent may be links
		defer root.Close()
		likely := cause.Read(root.FS(), paths).Likely()
		e.Cause = &likely
	}
	return e
}
