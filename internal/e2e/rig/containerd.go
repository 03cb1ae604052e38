package rig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/snapshots"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/internal/testrig"
)

// Containerd is an engine of the test's own, with one project at a time.
type Containerd struct {
	*testrig.Containerd
	*client.Client
	// images are the committed snapshots, which stay with the image, and of which the first shard's start makes
	// one; 0 before that.
	images int
}

// NewContainerd connects to an engine that has nothing yet.
func NewContainerd(t *testing.T, e *testrig.Containerd) *Containerd {
	t.Helper()
	c, err := client.New(e.Socket(), client.WithDefaultNamespace(containerd.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &Containerd{Containerd: e, Client: c}
}

// Runner implements Engine.
func (*Containerd) Runner() string { return "containerd" }

// Env implements Engine.
func (e *Containerd) Env() []string { return e.Containerd.Env }

// Info implements Engine.
func (e *Containerd) Info(t *testing.T) backends.Info {
	t.Helper()
	b := e.open(t)
	defer b.Close()
	info, err := b.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func (e *Containerd) open(t *testing.T) *containerd.Backend {
	t.Helper()
	b, err := containerd.New(context.WithoutCancel(t.Context()), containerd.Options{Address: e.Socket()})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Shards implements Engine.
func (e *Containerd) Shards(t *testing.T, runID string) []Shard {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // at the end of a test it has ended
	all, err := e.ContainerService().List(ctx, fmt.Sprintf("labels.%q==%q", "run.berth.run", runID))
	if err != nil {
		t.Fatal(err)
	}
	running, err := e.TaskService().List(ctx, &tasks.ListTasksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var out []Shard
	for _, c := range all {
		s := Shard{ID: c.ID, State: "created", Labels: c.Labels}
		for _, task := range running.Tasks {
			if task.ID == c.ID {
				s.Pid = int(task.Pid)
				s.State = strings.ToLower(task.Status.String())
			}
		}
		if s.State == "stopped" {
			s.State = "exited" // as Podman has it
		}
		out = append(out, s)
	}
	return out
}

// Remove implements Engine.
func (e *Containerd) Remove(t *testing.T, id string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	b := e.open(t)
	defer b.Close()
	s, err := b.Open(ctx, id)
	if err == nil {
		err = s.Remove(ctx)
	}
	if err != nil {
		t.Error(err)
	}
}

// Wait implements Engine.
func (e *Containerd) Wait(t *testing.T, id string) int {
	t.Helper()
	r, err := e.TaskService().Wait(t.Context(), &tasks.WaitRequest{ContainerID: id})
	if err != nil {
		t.Fatal(err)
	}
	return int(r.ExitStatus)
}

// Left implements Engine.
func (e *Containerd) Left(t *testing.T, containers []string) []string {
	t.Helper()
	return e.left(t, func(text string) bool {
		return slices.ContainsFunc(containers, func(id string) bool { return id != "" && strings.Contains(text, id) })
	})
}

// LeftInAll implements Engine.
func (e *Containerd) LeftInAll(t *testing.T) []string {
	t.Helper()
	left := e.left(t, func(string) bool { return true })
	ctx := context.WithoutCancel(t.Context())
	committed, others := e.snapshots(t)
	if e.images == 0 {
		e.images = committed
	}
	if committed != e.images {
		left = append(left, fmt.Sprintf("%d committed snapshots, there were %d", committed, e.images))
	}
	left = append(left, others...)
	ingests, err := e.ContentStore().ListStatuses(ctx)
	for _, i := range ingests {
		left = append(left, "half-written blob "+i.Ref)
	}
	fifos, ferr := os.ReadDir(e.FIFODir())
	for _, f := range fifos {
		left = append(left, "FIFOs of exec "+f.Name())
	}
	if errors.Is(ferr, fs.ErrNotExist) {
		ferr = nil
	}
	if err := errors.Join(err, ferr); err != nil {
		t.Error(err)
	}
	return left
}

// left tells what there is of shards whose ids, or what holds these, are as asked for.
func (e *Containerd) left(t *testing.T, is func(string) bool) (left []string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	add := func(kind, what string) {
		if is(what) {
			left = append(left, kind+" "+what)
		}
	}
	containers, err := e.ContainerService().List(ctx)
	for _, c := range containers {
		add("container", c.ID)
	}
	running, terr := e.TaskService().List(ctx, &tasks.ListTasksRequest{})
	for _, task := range running.GetTasks() {
		add("task", task.ID)
	}
	leases, lerr := e.LeasesService().List(ctx)
	for _, l := range leases {
		add("lease", l.ID)
	}
	if err := errors.Join(err, terr, lerr); err != nil {
		t.Error(err)
	}
	for _, m := range e.Mounts() {
		add("mount", m)
	}
	for _, s := range e.shims() {
		add("shim", s)
	}
	return left
}

// snapshots counts those that are committed, and names the others: a shard's, or one of an import under way.
func (e *Containerd) snapshots(t *testing.T) (committed int, others []string) {
	t.Helper()
	err := e.SnapshotService("").Walk(context.WithoutCancel(t.Context()), func(_ context.Context, i snapshots.Info) error {
		if i.Kind == snapshots.KindCommitted {
			committed++
		} else {
			others = append(others, fmt.Sprintf("%s snapshot %s", strings.ToLower(i.Kind.String()), i.Name))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return committed, others
}

// shims are the engine's: each has a folder of it for its own.
func (e *Containerd) shims() (lines []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // only a bad pattern fails
	for _, dir := range dirs {
		cwd, _ := os.Readlink(dir + "/cwd") // gone, or not ours
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if strings.HasPrefix(cwd, e.Dir) && ArgumentsHold(pid, "containerd-shim") {
			lines = append(lines, cmdline(pid))
		}
	}
	return lines
}

// Stored implements Engine.
func (e *Containerd) Stored(t *testing.T) int64 {
	t.Helper()
	args := statfs(e.Storage())
	out, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return taken(t, string(out))
}

// Clear implements Engine.
func (e *Containerd) Clear(t *testing.T) {
	t.Helper()
	all, err := e.ContainerService().List(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Error(err)
	}
	for _, c := range all {
		e.Remove(t, c.ID)
	}
}

func (*Containerd) runtimeDir() string { return os.Getenv("XDG_RUNTIME_DIR") }

// Monitor implements Engine.
func (*Containerd) Monitor() string { return "containerd-shim" }

// Share implements Engine: one of root's listens where everybody sees it.
func (*Containerd) Share(*testing.T) []string { return nil }

// Stoppable implements Engine: berth doesn't start it.
func (*Containerd) Stoppable(*Project) {}

// Restart implements Engine.
func (e *Containerd) Restart(*Project) { e.Containerd.Restart() }

// Stop implements Engine.
func (e *Containerd) Stop(*Project) { e.Containerd.Stop() }

// Start implements Engine.
func (e *Containerd) Start(*Project) { e.Containerd.Start() }
