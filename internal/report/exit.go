package report

import "github.com/berth-run/berth/internal/results"

// Exit codes of `berth run`.
const (
	ExitPassed      = 0
	ExitFailed      = 1 // some case failed
	ExitUsage       = 2 // a flag, a config or a dataset is wrong
	ExitSetup       = 3 // nothing could be set up: no trial was started
	ExitInfra       = 4 // trials are missing, or infrastructure lost them
	ExitInterrupted = 130
)

// ExitCode is a finished run's. A failed case outweighs missing trials: no resumed trial can take it
// back but under a passThreshold, while a missing one may still pass.
func ExitCode(s *results.Summary) int {
	switch {
	case s.Metrics.Failed > 0:
		return ExitFailed
	case s.Trials.Missing > 0, s.Trials.Infra > 0:
		return ExitInfra
	default:
		return ExitPassed
	}
}
