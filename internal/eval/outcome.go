package eval

import (
	"github.com/berth-run/berth/internal/report"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/runner"
)

// Result is a run that got as far as having a folder.
type Result struct {
	*results.Finished
	runner.Outcome

	run *results.Run
}

// ExitStatus is the run's, as a script reads it.
func (r *Result) ExitStatus() int {
	if r.SetupError() != nil {
		return report.ExitSetup
	}
	return report.ExitCode(&r.Summary)
}

// Publish makes the run the eval's latest if it is complete. It comes last.
func (r *Result) Publish() error {
	_, err := r.run.PublishLatest()
	return err
}
