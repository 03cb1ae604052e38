//go:build linux

// Command genseccomp writes the seccomp profile that package oci embeds. It resolves the moby
// project's default profile for a shard (no capabilities, a kernel that berth supports, amd64 and
// arm64), so that what is left is plain runtime-spec JSON: a runtime takes it as it is, and Podman's
// profile parser, whose format has the same keys, reads the same bytes from an image label.
//
// It isn't a general resolver: a condition that it can't decide for every shard is an error.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "seccomp.json", "file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "genseccomp:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	profile, err := generate()
	if err != nil {
		return err
	}
	return os.WriteFile(out, profile, 0o644)
}
