package containerd_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/snapshots"

	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/internal/testrig"
)

func TestConformanceAsRoot(t *testing.T) { conform(t, testrig.ContainerdAsRoot(t)) }

func TestConformanceRootless(t *testing.T) { conform(t, testrig.ContainerdRootless(t)) }

func conform(t *testing.T, b *containerd.Backend) {
	t.Run("suite", func(t *testing.T) {
		backendtest.Run(t, backendtest.Harness{
			Backend: b, Probe: testrig.Probe(t), Worker: testrig.Worker(t), Channel: runner.ChannelOpener,
		})
	})
	nothingLeft(t, b)
}

// nothingLeft looks at all that the engine keeps in berth's namespace, when the last image was removed too.
func nothingLeft(t *testing.T, b *containerd.Backend) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	check := func(what string, n int, err error) {
		t.Helper()
		if err != nil || n > 0 {
			t.Errorf("%d %s are left (%v)", n, what, err)
		}
	}
	containers, err := b.ContainerService().List(ctx)
	check("containers", len(containers), err)
	running, err := b.TaskService().List(ctx, &tasks.ListTasksRequest{})
	check("tasks", len(running.GetTasks()), err)
	images, err := b.ImageService().List(ctx)
	check("images", len(images), err)
	leases, err := b.LeasesService().List(ctx)
	check("leases", len(leases), err)
	count := 0
	err = b.SnapshotService(b.SnapshotterName()).Walk(ctx, func(context.Context, snapshots.Info) error { count++; return nil })
	check("snapshots", count, err)
	count = 0
	err = b.ContentStore().Walk(ctx, func(content.Info) error { count++; return nil })
	check("blobs", count, err)
	ingests, err := b.ContentStore().ListStatuses(ctx)
	check("half-written blobs", len(ingests), err)
	fifos, err := os.ReadDir(b.FIFODir())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	check("FIFOs", len(fifos), err)
}
