package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/worker"
)

// inShard is in the environment of the test shards: there this test binary is the worker, so that
// what runs is exactly the code under test.
const inShard = "BERTH_TEST_IN_SHARD"

func TestMain(m *testing.M) {
	if os.Getenv(inShard) == "" {
		os.Exit(m.Run())
	}
	if len(os.Args) > 1 {
		if probe, ok := probes[os.Args[1]]; ok {
			os.Exit(probe(os.Args[2:]))
		}
	}
	main()
}

func TestUsage(t *testing.T) {
	tests := map[string]struct {
		args   []string
		status int
		text   string
	}{
		"no such verb":    {[]string{"frobnicate"}, exitUsage, `usage: no verb "frobnicate"; see berth-worker --help`},
		"no such flag":    {[]string{"serve", "--dead"}, exitUsage, "usage: flag provided but not defined: -dead; see berth-worker --help"},
		"not a duration":  {[]string{"init", "--deadman", "soon"}, exitUsage, "usage: invalid value"},
		"no heartbeat":    {[]string{"serve", "--heartbeat", "0s"}, exitUsage, "usage: --heartbeat 0s isn't positive"},
		"switch never":    {[]string{"init", "--deadman", "0s"}, exitUsage, "usage: --deadman 0s isn't positive"},
		"too many":        {[]string{"channel", "x"}, exitUsage, "usage: channel takes 0 arguments, got 1"},
		"kill what":       {[]string{"kill"}, exitUsage, "usage: kill takes 1 arguments, got 0"},
		"kill a short id": {[]string{"kill", "x"}, 1, `exec id "x" is shorter`},
		"version":         {[]string{"version"}, 0, ""},
		"help":            {nil, 0, ""},
	}
	for name, tt := range tests {
		code, err := run(t.Context(), tt.args)
		if got := status(code, err); got != tt.status || !strings.HasPrefix(fmt.Sprint(err), tt.text) && tt.text != "" {
			t.Errorf("%s: status %d, %v; want %d, %s…", name, got, err, tt.status, tt.text)
		}
	}
	if got := status(0, fmt.Errorf("%w for 10m", worker.ErrSilent)); got != shardproto.ExitSilent {
		t.Errorf("dead man's switch: status %d, want %d", got, shardproto.ExitSilent)
	}
	if got := status(0, errors.New("x")); got != 1 {
		t.Errorf("failure: status %d, want 1", got)
	}
}
