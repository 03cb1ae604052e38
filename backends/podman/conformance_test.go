package podman_test

import (
	"testing"

	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/internal/testrig"
)

func TestConformance(t *testing.T) {
	backendtest.Run(t, backendtest.Harness{
		Backend: testrig.Podman(t), Probe: testrig.Probe(t), Worker: testrig.Worker(t), Channel: runner.ChannelOpener,
	})
}
