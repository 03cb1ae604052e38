package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/berth-run/berth/image"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/gateway"
	"github.com/berth-run/berth/internal/inference"
	"github.com/berth-run/berth/internal/report"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/runner"
)

// usageError is a command line that can't be meant.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitStatus ends the command with a status of its own; with a nil err, without a line.
type exitStatus struct {
	code int
	err  error
}

func (e exitStatus) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e exitStatus) Unwrap() error { return e.err }

// complain prints an error in one line, or the problems of a config in one each, as a compiler does.
func complain(w io.Writer, err error) {
	var problems evalconfig.Problems
	if !errors.As(err, &problems) {
		fmt.Fprintln(w, "berth:", code.Line(err.Error()))
		return
	}
	for _, p := range problems {
		fmt.Fprintln(w, "berth:", code.Line(p.Error()))
	}
}

// statusOf maps an error to the exit status that a script can rely on.
func statusOf(err error) int {
	var status exitStatus
	var usage usageError
	switch {
	case errors.As(err, &status):
		return status.code
	case errors.Is(err, errInterrupted), errors.Is(err, eval.ErrInterrupted):
		return report.ExitInterrupted
	case errors.As(err, &usage):
		return report.ExitUsage
	case errors.Is(err, eval.ErrUnfinished):
		return report.ExitInfra
	}
	for _, kind := range []error{
		runner.ErrOption, eval.ErrRunner, eval.ErrClient, eval.ErrSecrets,
		image.ErrRecipe, image.ErrPackage,
		inference.ErrBrokerMode, inference.ErrBaseURL, inference.ErrTTL, gateway.ErrNotLoopback,
		eval.ErrNoTrial, results.ErrNoRun, results.ErrRedacted, results.ErrChanged,
	} {
		if errors.Is(err, kind) {
			return report.ExitUsage
		}
	}
	return report.ExitSetup
}
