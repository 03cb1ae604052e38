package eval

import (
	"github.com/berth-run/berth/internal/report"
)

// SetupError is why no shard got as far as a trial, or nil when one did or none was needed.
func (r *Result) SetupError() error {
	var first error
	for _, s := range r.Shards {
		if s.Started || s.Finished > 0 {
			return nil
		}
		if first == nil {
			first = s.Err
		}
	}
	return first
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

// Leftovers are the errors of shards that did their trials and then didn't end as they should.
func (r *Result) Leftovers() []error {
	var errs []error
	for _, s := range r.Shards {
		if s.Err != nil && len(s.Missing) == 0 {
			errs = append(errs, s.Err)
		}
	}
	return errs
}
