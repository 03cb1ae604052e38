package fake_test

import (
	"context"
	"testing"

	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/backendtest/probe"
	"github.com/berth-run/berth/backends/fake"
)

func TestConformance(t *testing.T) {
	b := fake.New(fake.Options{})
	b.Register(backendtest.NotExecutable, nil)
	b.Register(backendtest.ProbePath, func(ctx context.Context, p fake.ProcessIO) int {
		return probe.Main(ctx, p.Args, probe.Stdio{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env})
	})
	backendtest.Run(t, backendtest.Harness{Backend: b})
}
