package podman_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/backendtest/probe"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/oci"
)

// TestCancelWorker cancels the exec of a real worker's `channel`. That one isn't dumpable, so its
// mark can't be read, and it's no descendant of one whose can.
func TestCancelWorker(t *testing.T) {
	b := testrig.Podman(t) // skips before anything is built
	r := newRigWith(t, b, backendtest.NewImage(t, testrig.Probe(t), nil).WithWorker(t, testrig.Worker(t)))
	s := r.start(t, r.config(t, oci.ShardSpec{Args: []string{oci.WorkerPath, "init"}}))
	ctx, cancel := context.WithCancelCause(t.Context())
	stdin, _ := io.Pipe() // nothing comes, and no end
	done := make(chan error, 1)
	go func() {
		_, err := s.Exec(ctx, backends.Process{Args: []string{oci.WorkerPath, "channel"}, Stdin: stdin})
		done <- err
	}()
	pid := 0
	eventually(t, "the channel can't be read", func() bool {
		pid = pidOf(t, s, "channel")
		return pid != 0 && !readable(t, s, fmt.Sprintf("/proc/%d/environ", pid))
	})
	cause := errors.New("cause")
	cancel(cause)
	if err := <-done; err == nil || err.Error() != cause.Error() {
		t.Errorf("Exec: %v", err)
	}
	if left := pidOf(t, s, "channel"); left != 0 {
		t.Errorf("channel still runs: pid %d, it was %d", left, pid)
	}
	if pidOf(t, s, "serve") == 0 {
		t.Error("the worker itself has ended")
	}
}

// pidOf finds a process of the worker by its verb, 0 for none.
func pidOf(t *testing.T, s backends.Shard, verb string) int {
	t.Helper()
	var all []probe.Proc
	if err := json.Unmarshal([]byte(output(t, s, "ps")), &all); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if strings.HasPrefix(p.Args+" ", oci.WorkerPath+" "+verb+" ") {
			return p.PID
		}
	}
	return 0
}

func readable(t *testing.T, s backends.Shard, file string) bool {
	t.Helper()
	st, err := s.Exec(t.Context(), backends.Process{Args: []string{backendtest.ProbePath, "file", file}})
	if err != nil {
		t.Fatal(err)
	}
	return st.Code == 0
}
