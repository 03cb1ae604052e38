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

// diskFullAtImport gives an image to an engine whose disk is too small for it. What came of it is gone.
func diskFullAtImport(t *testing.T, e rig.Engine) {
	tools := rig.Without(t, e)
	p := tools.Project(t, rig.SayCases("a"))
	p.OnEngine("ps").Expect(t, 0) // what an engine makes for itself isn't the image's
	before := e.Stored(t)
	r := p.SetUp()
	r.Expect(t, 3, "importing image "+rig.Image, "no space left on device", "the disk is full: ")
	if n := strings.Count(r.Stderr, "berth: "); n != 1 || r.Stdout != "" {
		t.Errorf("it said %d errors in:\n%s%s", n, r.Stderr, r.Stdout)
	}
	p.NothingLeft()
	rig.NothingOn(t, e)
	const own = 1 << 20 // of the engine's, for databases that have grown
	if after := e.Stored(t); after > before+own {
		t.Errorf("%d KiB of the image are left", (after-before)>>10)
	}
	if again := p.Rehearse(rig.Echo); again.Status != 3 || !strings.Contains(again.Stderr, "the engine doesn't have "+rig.Image) {
		t.Errorf("status %d:\n%s", again.Status, again.Stderr)
	}
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
