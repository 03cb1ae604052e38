// Command chatgpt stands for the ChatGPT desktop app, so that evals of it run without an account. It
// takes the flags that the real one is driven with, and a codex:// link.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/berth-run/berth/testdata/standin/app"
)

func main() {
	config, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "chatgpt:", err)
		os.Exit(2)
	}
	status, err := app.Run(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chatgpt:", err)
	}
	os.Exit(status)
}

// flags are those that Chromium gets as they are. Others are left out, as Electron's own would be.
var flags = []string{
	"--no-sandbox", "--ozone-platform", "--force-renderer-accessibility", "--disable-gpu", "--disable-dev-shm-usage",
	"--enable-logging", "--v",
}

func parse(args []string) (app.Config, error) {
	c := app.Config{Stdout: os.Stdout, Stderr: os.Stderr}
	for _, arg := range args {
		switch {
		case passes(arg):
			c.Flags = append(c.Flags, arg)
		case strings.HasPrefix(arg, "-"):
		case c.Link != "":
			return c, fmt.Errorf("more than one link")
		default:
			c.Link = arg
		}
	}
	return c, nil
}

func passes(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	for _, f := range flags {
		if name == f {
			return true
		}
	}
	return false
}
