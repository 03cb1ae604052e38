package engines

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
)

// diskFullAtResults fills the disk of the results in the middle of a trial. What had finished stays whole.
func diskFullAtResults(t *testing.T, tools rig.Tools) {
	p := tools.Project(t, rig.SayCases("first", "second", "third"))
	p.Out = rig.SmallDisk(t, "512k")
	m := p.Midway()
	fill(t, p.Out)
	close(m.Hold.Release)
	r := m.Run.Wait()
	r.Expect(t, 4, "results_not_saved: the disk is full", "--resume")
	traces, err := filepath.Glob(filepath.Join(p.Out, "runs/*/traces/default/*/0.json"))
	if err != nil || len(traces) != 1 || !strings.Contains(traces[0], "/first/") {
		t.Fatalf("traces: %v, %v", traces, err)
	}
	body, err := os.ReadFile(traces[0])
	if err != nil || !strings.Contains(string(body), `"finalText": "say first"`) {
		t.Errorf("%v in %s", err, body)
	}
	p.NoTrace(m.Shard.ID)
}

// fill writes until nothing more fits.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{4096, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
