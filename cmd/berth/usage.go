package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

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

// former are flags of mst that berth doesn't have, and what to do instead.
var former = map[string]string{
	"manifest":   "it was renamed: use --config",
	"m":          "it was renamed: use --config",
	"arm":        "it was renamed: use --variant",
	"iterations": "it was renamed: use --trials",
	"scenario":   "it was renamed: use --case",
	"plugins":    "plugins are mst's JavaScript extensions, which berth doesn't run",
}

// explained adds what to do to the error of a flag that isn't there.
func explained(err error, c *cobra.Command) error {
	var unknown interface{ GetSpecifiedName() string } // pflag's NotExistError
	if errors.As(err, &unknown) {
		if instead, ok := former[unknown.GetSpecifiedName()]; ok {
			return fmt.Errorf("%w: %s", err, instead)
		}
	}
	return fmt.Errorf("%w; see `%s --help`", err, c.CommandPath())
}

// lists are the flags that take several values at once, as mst's do.
var lists = []string{"--variant", "--case", "--filter-tag"}

// spread repeats such a flag for each of its values: --case a b becomes --case a --case b.
func spread(args []string) []string {
	var out []string
	flag, values := "", 0
	for i, arg := range args {
		switch {
		case arg == "--":
			return append(out, args[i:]...)
		case strings.HasPrefix(arg, "-"):
			flag, values = "", 0
			if slices.Contains(lists, arg) {
				flag = arg
			}
		case flag != "":
			if values++; values > 1 {
				out = append(out, flag)
			}
		}
		out = append(out, arg)
	}
	return out
}
