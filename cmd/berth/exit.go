package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/report"
	"github.com/berth-run/berth/internal/runner"
)

var errInterrupted = errors.New("interrupted")

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

// statusOf maps an error to the exit status that a script can rely on.
func statusOf(err error) int {
	var status exitStatus
	var usage usageError
	switch {
	case errors.As(err, &status):
		return status.code
	case errors.Is(err, errInterrupted):
		return report.ExitInterrupted
	case errors.As(err, &usage):
		return report.ExitUsage
	}
	for _, kind := range []error{
		runner.ErrOption, eval.ErrRunner, eval.ErrClient, eval.ErrSecrets,
		evalconfig.ErrInvalid, evalconfig.ErrUnsupported, evalconfig.ErrSelection,
	} {
		if errors.Is(err, kind) {
			return report.ExitUsage
		}
	}
	return report.ExitSetup
}

// usageErrors makes wrong arguments of every command a usage error that points to its help.
func usageErrors(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usageError{fmt.Errorf("%w; see `%s --help`", err, c.CommandPath())}
			}
			return nil
		}
	}
	if run := c.RunE; run != nil {
		// cobra checks required flags with an error of no kind of its own, before RunE; so it is done here.
		c.RunE = func(c *cobra.Command, args []string) error {
			if c.Flags().Lookup("config") != nil && !c.Flags().Changed("config") {
				return usageError{fmt.Errorf("--config is needed: the eval config to use; see `%s --help`", c.CommandPath())}
			}
			return run(c, args)
		}
	}
	for _, sub := range c.Commands() {
		usageErrors(sub)
	}
}

// renames are flags that mst once had, and what they are called now.
var renames = map[string]string{
	"--manifest": "--config", "-m": "--config", "--arm": "--variant",
	"--iterations": "--trials", "--scenario": "--case",
}

// renamed adds the replacement to the error of a flag that was renamed.
func renamed(err error) error {
	for old, now := range renames {
		if strings.HasSuffix(err.Error(), "flag: "+old) || strings.Contains(err.Error(), "shorthand flag: '"+old[1:]+"'") {
			return fmt.Errorf("%s was renamed: use %s", old, now)
		}
	}
	return err
}
