package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/report"
	"github.com/berth-run/berth/internal/runner"
)

var (
	errUsage       = errors.New("usage")
	errInterrupted = errors.New("interrupted")
)

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
	switch {
	case errors.As(err, &status):
		return status.code
	case errors.Is(err, errInterrupted):
		return report.ExitInterrupted
	case errors.Is(err, errUsage), errors.Is(err, runner.ErrOption),
		errors.Is(err, evalconfig.ErrInvalid), errors.Is(err, evalconfig.ErrUnsupported):
		return report.ExitUsage
	}
	return report.ExitSetup
}

func usageError(err error) error { return fmt.Errorf("%w: %w", errUsage, err) }

// usageErrors makes wrong arguments of every command a usage error that points to its help.
func usageErrors(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usageError(fmt.Errorf("%w; see `%s --help`", err, c.CommandPath()))
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		usageErrors(sub)
	}
}

// renames are flags that mst once had, and what they are called now.
var renames = map[string]string{
	"--manifest": "--config", "-m": "--config", "'m'": "--config", "--arm": "--variant",
	"--iterations": "--trials", "--scenario": "--case",
}

// renamed adds the replacement to the error of a flag that was renamed.
func renamed(err error) error {
	for old, now := range renames {
		if strings.HasSuffix(err.Error(), "flag: "+old) || strings.Contains(err.Error(), "flag: "+old+" ") || strings.Contains(err.Error(), "shorthand flag: "+old) {
			return fmt.Errorf("%s was renamed: use %s", strings.Trim(old, "'"), now)
		}
	}
	return err
}
