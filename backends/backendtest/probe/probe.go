// Package probe is the program that the conformance suite runs in shards: one binary with a verb for
// each thing that is to be looked at. A backend without isolation calls Main in-process.
package probe

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Stdio is what a process has.
type Stdio struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    []string
}

// Main runs `probe VERB [ARG...]` and gives the exit status. The end of ctx stands for SIGTERM to
// `pause` in a real process, and for SIGKILL to any verb in one that is only played.
func Main(ctx context.Context, args []string, s Stdio) int {
	if len(args) < 2 {
		fmt.Fprintf(s.Stderr, "usage: probe VERB [ARG...], with VERB one of %v\n", slices.Sorted(maps.Keys(verbs)))
		return 2
	}
	v, ok := verbs[args[1]]
	if !ok {
		fmt.Fprintf(s.Stderr, "probe: no verb %q\n", args[1])
		return 2
	}
	code, err := v(ctx, args[2:], s)
	if err != nil {
		fmt.Fprintf(s.Stderr, "probe %s: %v\n", args[1], err)
		return max(code, 1)
	}
	return code
}

type verb func(ctx context.Context, args []string, s Stdio) (int, error)

var verbs map[string]verb

func init() {
	verbs = map[string]verb{
		"pause":  pause,
		"block":  block,
		"exit":   exit,
		"cat":    cat,
		"match":  match,
		"plant":  plant,
		"bytes":  writeBytes,
		"both":   both,
		"env":    env,
		"args":   printArgs,
		"raise":  raise,
		"hog":    hog,
		"tree":   tree,
		"orphan": orphan,
		"forks":  forks,
		"ps":     ps,
		"file":   file,
		"list":   list,
		"write":  write,
		"kill":   kill,
		"listen": listen,
		"dial":   dial,
		"lookup": lookup,
	}
}

// Run is Main for a real process. Only `pause` ends on SIGTERM.
func Run() int {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "pause" {
		go func() {
			<-term
			stop()
		}()
	}
	return Main(ctx, os.Args, Stdio{os.Stdin, os.Stdout, os.Stderr, os.Environ()})
}
