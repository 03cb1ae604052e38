// Command probe is package probe as a static binary, for the conformance suite's image.
package main

import (
	"os"

	"github.com/berth-run/berth/backends/backendtest/probe"
)

func main() { os.Exit(probe.Run()) }
