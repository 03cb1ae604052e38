package parity

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/oci"
)

// Engine is a backend and a way to read back what it did.
type Engine struct {
	Backend backends.Backend
	// Image has the probe and the worker.
	Image string
	// Config reads the config.json that a started shard's runtime was given.
	Config func(t *testing.T, id string) []byte
	// Allowed are the differences that may be.
	Allowed []Allowed
}

// weight is a CPU weight that isn't the default, and shares is what that is on cgroup v1.
const (
	weight = 200
	shares = "2048"
)

// Spec is that of the shards that are compared: all that can be asked for is asked for.
func Spec(t *testing.T) *specs.Spec {
	t.Helper()
	spec, err := oci.ShardSpec{Args: []string{backendtest.ProbePath, "pause"}, CPUWeight: weight}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// Run compares a shard's config with what was asked for, and has the shard check itself.
func Run(t *testing.T, e Engine) {
	s := e.Started(t)
	for _, d := range e.Differences(t, s) {
		t.Errorf("%s", d)
	}
	if missing := Missing(t, s); len(missing) > 0 {
		t.Errorf("the shard misses %v", missing)
	}
}

// Missing are the protections of Spec that a shard of it finds not in force.
func Missing(t *testing.T, s backends.Shard) []string {
	t.Helper()
	expect := selfcheck.FromSpec(Spec(t), backends.NetworkNone)
	expect.Foreign = selfcheck.OwnNamespaces()
	return selfcheck.Missing(SelfCheck(t, s, expect).Protections)
}

// Started makes a shard that goes with the test.
func (e Engine) Started(t *testing.T) backends.Shard {
	t.Helper()
	s, err := e.Start(t)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Start is Started for a shard that the runtime may refuse.
func (e Engine) Start(t *testing.T) (backends.Shard, error) {
	t.Helper()
	s, err := e.Backend.Create(t.Context(), backends.Config{
		Name: "berth-parity-" + strings.ToLower(rand.Text()), Image: e.Image, Spec: Spec(t), Network: backends.NetworkNone,
	})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Remove(ctx); err != nil {
			t.Error(err)
		}
	})
	return s, s.Start(t.Context())
}

// Differences are a shard's that may not be.
func (e Engine) Differences(t *testing.T, s backends.Shard) []Difference {
	t.Helper()
	all, err := Compare(Spec(t), e.Config(t, s.ID()))
	if err != nil {
		t.Fatal(err)
	}
	return Judge(all, e.Allowed)
}

// Limits are the differences of a backend that leaves a limit out where the engine lacks its controller; the
// shard finds that by itself. Controllers are those it does so for. With cpu they include that of cgroup v1,
// where a weight has another name and scale.
func Limits(t *testing.T, b backends.Backend, controllers ...string) []Allowed {
	t.Helper()
	info, err := b.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string][]string{
		"memory": {"memory", "memory.limit", "memory.swap"}, "pids": {"pids", "pids.limit"}, "cpu": {"unified", "unified." + oci.CPUWeightKey},
	}
	var all []Allowed
	without := func(controller, why string) {
		for _, field := range fields[controller] {
			all = append(all, Allowed{Field: "linux.resources." + field, Got: Absent, Why: why})
		}
	}
	for _, c := range controllers {
		_, v1 := os.Stat("/sys/fs/cgroup/cgroup.controllers")
		switch has := slices.Contains(info.Controllers, c); {
		case !has:
			without(c, "the engine has no controller for it")
		case c == "cpu" && v1 != nil:
			const why = "cgroup v1 has shares for weights, 1024 for 100"
			without(c, why)
			all = append(all, Allowed{Field: "linux.resources.cpu", Got: "{}", Why: why}, Allowed{Field: "linux.resources.cpu.shares", Got: shares, Why: why})
		}
	}
	return all
}

// SelfCheck has a shard check itself, as every run does before anything else.
func SelfCheck(t *testing.T, s backends.Shard, expect selfcheck.Expect) selfcheck.Report {
	t.Helper()
	in, err := json.Marshal(expect)
	if err != nil {
		t.Fatal(err)
	}
	var out, stderr bytes.Buffer
	st, err := s.Exec(t.Context(), backends.Process{
		Args: []string{oci.WorkerPath, "selfcheck"}, Stdin: bytes.NewReader(in), Stdout: &out, Stderr: &stderr,
	})
	if err != nil || st.Code != 0 {
		t.Fatalf("selfcheck: %v, %v: %s", st, err, stderr.Bytes())
	}
	var report selfcheck.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	return report
}
