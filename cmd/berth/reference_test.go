package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-run/berth/internal/runner"
)

//go:generate go test -run ^TestReference$ -update

var update = flag.Bool("update", false, "write docs/cli.md")

const reference = "../../docs/cli.md"

// TestReference: docs/cli.md is what the commands say of themselves.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The command line\n\nMade from the commands themselves by `make generate`; a test compares the two.\n")
	describe(&b, (&app{}).newRoot())
	if *update {
		if err := os.WriteFile(reference, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(reference)
	if err != nil || string(got) != b.String() {
		t.Errorf("docs/cli.md isn't what the commands say (%v); run `make generate`", err)
	}
}

// describe writes a command's section, then its subcommands'.
func describe(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n```\n%s\n```\n", c.CommandPath(), c.Short, usageLine(c))
	if c.Long != "" {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimSpace(c.Long))
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
	}
	if flags := flagRows(c); len(flags) > 0 {
		fmt.Fprintf(b, "\n| flag | |\n|---|---|\n%s\n", strings.Join(flags, "\n"))
	}
	for _, sub := range documented(c) {
		describe(b, sub)
	}
}

func usageLine(c *cobra.Command) string {
	if c.HasSubCommands() {
		return c.CommandPath() + " COMMAND"
	}
	return c.UseLine()
}

func flagRows(c *cobra.Command) []string {
	var rows []string
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + value)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "false" && f.DefValue != "0" {
			usage += " (default " + f.DefValue + ")"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s |", name, strings.ReplaceAll(usage, "|", "\\|")))
	})
	return rows
}

// documented are a command's own subcommands.
func documented(c *cobra.Command) []*cobra.Command {
	var own []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" && sub.Name() != "completion" {
			own = append(own, sub)
		}
	}
	return own
}

// TestHelp: every command says what it does, shows an example of itself, and names each of its flags;
// those that take runner options name these.
func TestHelp(t *testing.T) {
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		help := &strings.Builder{}
		c.SetOut(help)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		if c.Short == "" || !strings.Contains(c.Example+c.Long, c.CommandPath()) {
			t.Errorf("%s: no line about it, or no example", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && (f.Usage == "" || !strings.Contains(help.String(), "--"+f.Name)) {
				t.Errorf("%s --help doesn't explain --%s", c.CommandPath(), f.Name)
			}
		})
		isIn := func(options string) bool { return strings.Contains(help.String(), options) }
		if c.Flags().Lookup("runner-option") != nil && !isIn(runner.RunHelp()) && !isIn(runner.SetUpHelp()) {
			t.Errorf("%s --help doesn't name the runner options", c.CommandPath())
		}
		for _, sub := range documented(c) {
			check(sub)
		}
	}
	check((&app{}).newRoot())
}
