package containerd_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/typeurl/v2"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/internal/owner"
)

// deadOwner is this process, as it would be if another had had its number.
func deadOwner(t *testing.T) owner.Shard {
	t.Helper()
	self, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	self.Start = "1"
	return owner.Shard{Run: "r-dead", Created: time.Now(), Owner: self}
}

// TestSweepHalfMadeAsRoot: whatever a killed berth had done of a shard or an import, a sweep finds.
func TestSweepHalfMadeAsRoot(t *testing.T) {
	r := newRig(t)
	dead := deadOwner(t).Labels()
	config := func(name string) backends.Config {
		c := r.config(t)
		c.Name, c.Labels = name, dead
		return c
	}
	for _, steps := range []containerd.Steps{containerd.Leased, containerd.Prepared} {
		if err := r.CreatePart(t.Context(), config(fmt.Sprintf("half-%d", steps)), steps); err != nil {
			t.Fatal(err)
		}
	}
	created, err := r.Create(t.Context(), config("created"))
	if err != nil {
		t.Fatal(err)
	}
	// The lease of a shard that lives long has expired.
	if err := r.LeasesService().Delete(t.Context(), leases.Lease{ID: created.ID()}); err != nil {
		t.Fatal(err)
	}
	running, err := r.Create(t.Context(), config("running"))
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	fifos := filepath.Join(r.FIFODir(), running.ID(), "EXEC")
	if err := os.MkdirAll(fifos, 0o700); err != nil {
		t.Fatal(err)
	}
	halfImport(t, r)

	want := []string{"created", "half-1", "half-2", "running"}
	if got := swept(t, r, true); !slices.Equal(got, want) {
		t.Errorf("would sweep %v, want %v", got, want)
	}
	if got := swept(t, r, false); !slices.Equal(got, want) {
		t.Errorf("swept %v, want %v", got, want)
	}
	if err := r.RemoveImage(t.Context(), r.ref); err != nil {
		t.Error(err)
	}
	nothingLeft(t, r.Backend)
}

// halfImport is an import whose maker died: its lease, a blob that nobody names, and one half written.
func halfImport(t *testing.T, r rig) {
	t.Helper()
	s := deadOwner(t)
	labels := s.Labels()
	labels["io.berth.containerd.import"] = "localhost/half:1"
	delete(labels, owner.LabelRun)
	lease, err := r.LeasesService().Create(t.Context(), leases.WithRandomID(), leases.WithLabels(labels), leases.WithExpiration(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	ctx := leases.WithLease(t.Context(), lease.ID)
	if err := content.WriteBlob(ctx, r.ContentStore(), "whole", strings.NewReader("blob"), ocispec.Descriptor{Size: 4}); err != nil {
		t.Fatal(err)
	}
	w, err := content.OpenWriter(ctx, r.ContentStore(), content.WithRef("half"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "bl"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := r.SnapshotService(r.SnapshotterName()).Prepare(ctx, "unpacking", "", snapshots.WithLabels(nil)); err != nil {
		t.Fatal(err)
	}
}

func swept(t *testing.T, b backends.Backend, dryRun bool) (names []string) {
	t.Helper()
	got, err := owner.Sweep(t.Context(), b, dryRun)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range got {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

// TestSweepSparesAsRoot: a shard that its owner is making isn't swept, nor an import under way.
func TestSweepSparesAsRoot(t *testing.T) {
	r := newRig(t)
	s := deadOwner(t)
	self, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	s.Owner = self
	c := r.config(t)
	c.Labels = s.Labels()
	if err := r.CreatePart(t.Context(), c, containerd.Prepared); err != nil {
		t.Fatal(err)
	}
	if got := swept(t, r, false); len(got) > 0 {
		t.Errorf("swept %v", got)
	}
	listed, err := r.List(t.Context(), map[string]string{owner.LabelRun: s.Run})
	if err != nil || len(listed) != 1 || listed[0].Name != c.Name || listed[0].State != backends.StateCreated || listed[0].Created.IsZero() {
		t.Fatalf("listed %+v, %v", listed, err)
	}
	begun, err := r.Open(t.Context(), listed[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := begun.Start(t.Context()); !errors.Is(err, backends.ErrNotFound) {
		t.Errorf("start: %v", err)
	}
	for range 2 {
		if err := begun.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if listed, err := r.List(t.Context(), nil); err != nil || len(listed) > 0 {
		t.Errorf("left: %v, %v", listed, err)
	}
}

// TestKilledAsRoot kills a berth at each of its steps, and another sweeps what it left.
func TestKilledAsRoot(t *testing.T) {
	r := newRig(t)
	layout := filepath.Join(t.TempDir(), "layout.tar")
	b, err := io.ReadAll(r.image.Layout(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(layout, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range lifeSteps {
		t.Run(step, func(t *testing.T) {
			killAt(t, r, step, "CONTAINERD_ADDRESS="+r.Address(), lifeImage+"="+r.ref, lifeLayout+"="+layout)
			sweepAll(t, r)
		})
	}
	sweepAll(t, r)
	for _, ref := range []string{r.ref, r.ref + "-other"} { // an import that was over isn't a remain
		if err := r.RemoveImage(t.Context(), ref); err != nil && !errors.Is(err, backends.ErrNotFound) {
			t.Error(err)
		}
	}
	nothingLeft(t, r.Backend)
	noNetwork(t, r.Backend)
}

// sweepAll sweeps until nothing is listed: the engine may still be at what a killed berth last asked for.
func sweepAll(t *testing.T, r rig) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		_, err := owner.Sweep(t.Context(), r, false)
		left, lerr := r.List(t.Context(), nil)
		if err == nil && lerr == nil && len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left: %+v, %v, %v", left, err, lerr)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestStartingExecAsRoot: a berth was killed while it started an exec, whose streams nobody opens any more.
// The shard can be removed all the same.
func TestStartingExecAsRoot(t *testing.T) {
	r := newRig(t)
	s := r.started(t)
	dir := filepath.Join(r.FIFODir(), s.ID(), "EXEC")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stdout, stderr := filepath.Join(dir, "stdout"), filepath.Join(dir, "stderr")
	for _, name := range []string{stdout, stderr} {
		if err := unix.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spec, err := typeurl.MarshalAnyToProto(&specs.Process{Args: []string{backendtest.ProbePath, "pause"}, Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.TaskService().Exec(t.Context(), &tasks.ExecProcessRequest{ContainerID: s.ID(), ExecID: "EXEC", Spec: spec, Stdout: stdout, Stderr: stderr}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := r.TaskService().Start(t.Context(), &tasks.StartRequest{ContainerID: s.ID(), ExecID: "EXEC"})
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Fatalf("it doesn't wait for who opens its streams (%v)", err)
	case <-time.After(time.Second): // by now it most probably does; it's no fault if it comes later
	}
	if err := s.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	// It wasn't its own patience that came to an end.
	if err := <-ended; err != nil && strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
		t.Error(err)
	}
}

// killAt starts a berth, with the engine's network for its own, and kills it when it comes to a step.
func killAt(t *testing.T, r rig, step string, env ...string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := enter(r.Backend, true, exe)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	came := false
	for lines := bufio.NewScanner(out); !came && lines.Scan(); {
		came = lines.Text() == step
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !came {
		t.Fatal("it never came to that step")
	}
}
