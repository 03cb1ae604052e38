package fake_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/backendtest/probe"
	"github.com/berth-run/berth/backends/fake"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/internal/shardtest"
	"github.com/berth-run/berth/oci"
)

func TestConformance(t *testing.T) {
	b := shardtest.New(t, shardtest.Options{})
	b.Register(backendtest.NotExecutable, nil)
	b.Register(backendtest.ProbePath, func(ctx context.Context, p fake.ProcessIO) int {
		return probe.Main(ctx, p.Args, probe.Stdio{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env})
	})
	home := func(s backends.Shard, path string) string {
		return filepath.Join(filepath.Dir(b.RunDir(s.ID())), strings.TrimPrefix(path, oci.Home))
	}
	backendtest.Run(t, backendtest.Harness{Backend: b, Channel: runner.ChannelOpener, Path: home})
}
