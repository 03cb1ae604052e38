package containerd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/core/snapshots"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/oci"
)

// rig is an engine with the suite's image.
type rig struct {
	*containerd.Backend
	image backendtest.Image
	ref   string
}

func newRig(t *testing.T) rig {
	t.Helper()
	return rigOn(t, testrig.ContainerdAsRoot(t))
}

func rigOn(t *testing.T, b *containerd.Backend) rig {
	t.Helper()
	r := rig{b, backendtest.NewImage(t, testrig.Probe(t), nil), "localhost/berth-test:1"}
	if _, err := r.ImportImage(t.Context(), r.ref, r.image.Layout(t)); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r rig) config(t *testing.T) backends.Config {
	t.Helper()
	spec, err := oci.ShardSpec{Args: []string{backendtest.ProbePath, "pause"}}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	return backends.Config{Name: "t-" + rand.Text(), Image: r.ref, Spec: spec, Network: backends.NetworkNone}
}

func (r rig) started(t *testing.T) backends.Shard {
	t.Helper()
	return r.start(t, r.config(t))
}

func (r rig) start(t *testing.T, c backends.Config) backends.Shard {
	t.Helper()
	s, err := r.Create(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Remove(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func output(t *testing.T, s backends.Shard, args ...string) string {
	t.Helper()
	var out strings.Builder
	st, err := s.Exec(t.Context(), backends.Process{Args: append([]string{backendtest.ProbePath}, args...), Stdout: &out})
	if err != nil || st.Code != 0 {
		t.Fatalf("%v: %v, %v", args, st, err)
	}
	return out.String()
}

// TestNotRootAsRoot: what root's engine runs isn't root on the machine, neither its processes nor its files.
func TestNotRootAsRoot(t *testing.T) {
	r := newRig(t)
	s := r.started(t)
	f := strings.Fields(output(t, s, "file", "/proc/self/uid_map"))
	if len(f) != 3 || f[0] != "0" || f[1] == "0" || f[2] != "65536" {
		t.Fatalf("ids are mapped by %v", f)
	}
	task, err := r.TaskService().Get(t.Context(), &tasks.GetRequest{ContainerID: s.ID()})
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", task.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var first int
	if _, err := fmt.Sscan(f[1], &first); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("\nUid:\t%d\t", first+oci.UID); !strings.Contains(string(status), want) {
		t.Errorf("PID 1 isn't %q on the machine:\n%s", want, status)
	}
	// Root of the shard owns the file: an id that isn't mapped would show as 65534.
	if got := output(t, s, "list", filepath.Dir(backendtest.ProbePath)); !strings.Contains(got, `"uid":0,"gid":0`) {
		t.Errorf("files belong to %s", got)
	}
}

// TestShiftedOnceAsRoot: shards of one image share its shifted file system.
func TestShiftedOnceAsRoot(t *testing.T) {
	r := newRig(t)
	count := func() (n int) {
		err := r.SnapshotService(r.SnapshotterName()).Walk(t.Context(), func(context.Context, snapshots.Info) error { n++; return nil })
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	layers, err := r.image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if got := count(); got != len(layers) {
		t.Errorf("%d snapshots of %d layers", got, len(layers))
	}
	for shards := range 3 {
		r.started(t)
		// One more has the files that are berth's and not the image's.
		if got := count(); got != len(layers)+1+shards+1 {
			t.Errorf("%d snapshots of %d layers and %d shards", got, len(layers), shards+1)
		}
	}
	// An import of what is there leaves it so.
	if _, err := r.ImportImage(t.Context(), r.ref, r.image.Layout(t)); err != nil {
		t.Fatal(err)
	}
	if got := count(); got != len(layers)+1+3 {
		t.Errorf("%d snapshots after another import", got)
	}
}

// TestFIFOFolderNotSharedAsRoot: berth in a container that has the engine's socket and no more.
func TestFIFOFolderNotSharedAsRoot(t *testing.T) {
	r := newRig(t)
	s := r.started(t)
	r.SetRoot(t.TempDir())
	defer r.SetRoot("")
	_, err := s.Exec(t.Context(), backends.Process{Args: []string{backendtest.ProbePath, "exit", "0"}, Stdin: strings.NewReader("")})
	if !errors.Is(err, backends.ErrUnavailable) || !strings.Contains(err.Error(), "mount the host's") {
		t.Errorf("%v", err)
	}
}
