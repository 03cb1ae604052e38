package results

import "errors"

// What this package fails with; match with errors.Is.
var (
	// ErrNoRun: there is no such run.
	ErrNoRun = errors.New("no such run")
	// ErrRedacted: the run was stored without answers, so it can't be resumed or graded again.
	ErrRedacted = errors.New("the run was stored redacted")
	// ErrFormat: a file isn't of a format that this version reads.
	ErrFormat = errors.New("not an mst.run/v1 file")
	// ErrDiskFull: nothing more can be written; what was written before is whole.
	ErrDiskFull = errors.New("the disk is full")
	// ErrChanged: the run to resume was of another config or dataset.
	ErrChanged = errors.New("the eval has changed since the run")
)
