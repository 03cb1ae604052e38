package containerd_test

import (
	"testing"

	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/internal/testrig"
)

func TestConformanceAsRoot(t *testing.T) {
	backendtest.Run(t, backendtest.Harness{Backend: testrig.ContainerdAsRoot(t), Probe: testrig.Probe(t)})
}

func TestConformanceRootless(t *testing.T) {
	backendtest.Run(t, backendtest.Harness{Backend: testrig.ContainerdRootless(t), Probe: testrig.Probe(t)})
}
