// Package backendtest is the conformance suite that every backend runs: what the essay in package
// backends says, tried. A backend's own test is a Harness and a call of Run.
package backendtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/oci"
)

// Harness is what the suite needs of a backend under test.
type Harness struct {
	Backend backends.Backend
	// Probe is the path of the static probe binary for the suite's image; "" for a backend that runs
	// package probe in-process.
	Probe string
	// Worker is the path of the static worker binary; "" for a backend that has one in-process.
	Worker string
	// Channel opens the link to a shard's worker, as a run does.
	Channel func(backends.Shard) channel.Opener
	// Path is where a path in a shard is for the probe; nil for a backend whose shards have files of their own.
	Path func(shard backends.Shard, path string) string
}

// limit ends a case that hangs; nothing is measured by it.
const limit = 5 * time.Minute

// testCase is one case. Needs names the field of backends.Capabilities without which it can't run.
type testCase struct {
	name  string
	needs string
	run   func(t *testing.T, e *env)
}

// Run runs the suite. It leaves nothing on the engine. In place of cases that a backend says it can't do
// it sees that the backend refuses; what depends on the host is skipped, by the capability's name; and
// what a backend without an engine behind it never could do isn't among its cases, and is listed.
func Run(t *testing.T, h Harness) {
	info, err := h.Backend.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("conformance of %s", setup(info)) // scripts/testsummary counts the cases below by this, and says what is left out
	e := newEnv(t, h)
	var others []string
	without := map[string][]string{}
	for _, c := range slices.Concat(imageCases, lifecycleCases, execCases, streamCases, soakCases, cancelCases, waitCases, limitCases, copyCases, fileCases, listCases, networkCases) {
		can := c.needs == "" || has(t, info.Capabilities, c.needs)
		if !can && !info.Capabilities.Isolation {
			others = append(others, c.name)
			continue
		}
		if !can && refusals[c.needs] != nil {
			without[c.needs] = append(without[c.needs], c.name)
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if !can {
				t.Skipf("%s has no capability %s", info.Name, c.needs)
			}
			c.run(t, e)
		})
	}
	for _, capability := range slices.Sorted(maps.Keys(without)) {
		cases := without[capability]
		t.Logf("conformance leaves out %d: it has no %s, and is seen to refuse it: %s", len(cases), capability, strings.Join(cases, "; "))
		t.Run("without "+capability, func(t *testing.T) { refusals[capability](t, e) })
	}
	t.Run("nothing left", e.nothingLeft)
	if len(others) > 0 {
		t.Logf("conformance leaves out %d: it runs no container: %s", len(others), strings.Join(others, "; "))
	}
}

// setup names what the suite runs on.
func setup(i backends.Info) string {
	switch {
	case !i.Capabilities.Isolation:
		return i.Name
	case i.Rootless:
		return fmt.Sprintf("%s %s, rootless", i.Name, i.Version)
	}
	return fmt.Sprintf("%s %s, as root", i.Name, i.Version)
}

func has(t *testing.T, c backends.Capabilities, name string) bool {
	t.Helper()
	switch name {
	case "MemoryLimit":
		return c.MemoryLimit
	case "PidsLimit":
		return c.PidsLimit
	case "CPUWeight":
		return c.CPUWeight
	case "Copy":
		return c.Copy
	case "Isolation":
		return c.Isolation
	case "NetworkEngine":
		return c.NetworkEngine
	}
	t.Fatalf("no capability is called %s", name)
	return false
}

// env is what the cases share: the backend, its image, and a label on all they create.
type env struct {
	Harness
	backends.Backend
	image Image
	ref   string
	run   string
}

// runLabel is on every shard of one run of the suite.
const runLabel = "berth.test.run"

func newEnv(t *testing.T, h Harness) *env {
	e := &env{Harness: h, Backend: h.Backend, run: strings.ToLower(rand.Text())}
	e.ref = "localhost/berth-conformance:" + e.run
	e.image = NewImage(t, h.Probe, nil)
	if h.Worker != "" {
		e.image = e.image.WithWorker(t, h.Worker)
	}
	ctx := e.context(t)
	if _, err := e.ImportImage(ctx, e.ref, e.image.Layout(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := cleanupContext()
		defer cancel()
		if err := e.RemoveImage(ctx, e.ref); err != nil {
			t.Errorf("removing the suite's image: %v", err)
		}
	})
	return e
}

func (e *env) context(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// cleanupContext is for after a test's own has ended.
func cleanupContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), limit)
}

// config is a shard's that runs `probe ARGS` as PID 1, `pause` without any.
func (e *env) config(t *testing.T, args ...string) backends.Config {
	t.Helper()
	if len(args) == 0 {
		args = []string{"pause"}
	}
	spec, err := oci.ShardSpec{Args: append([]string{ProbePath}, args...)}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	return backends.Config{
		Name:    "berth-test-" + strings.ToLower(rand.Text()),
		Image:   e.ref,
		Spec:    spec,
		Network: backends.NetworkNone,
		Labels:  map[string]string{runLabel: e.run},
	}
}

// create makes a shard that goes with the test.
func (e *env) create(t *testing.T, c backends.Config) backends.Shard {
	t.Helper()
	s, err := e.Create(e.context(t), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := cleanupContext()
		defer cancel()
		if err := s.Remove(ctx); err != nil {
			t.Errorf("removing: %v", err)
		}
	})
	return s
}

// started makes and starts one.
func (e *env) started(t *testing.T, args ...string) backends.Shard {
	t.Helper()
	s := e.create(t, e.config(t, args...))
	if err := s.Start(e.context(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

func (e *env) nothingLeft(t *testing.T) {
	left, err := e.List(e.context(t), map[string]string{runLabel: e.run})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range left {
		t.Errorf("left: %s %s", l.Name, l.State)
	}
}
