package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
)

// TestDiskFull fills the disk of the results in the middle of a trial. What had finished stays whole.
func TestDiskFull(t *testing.T) {
	p := rig.NewProject(t, rig.SayCases("first", "second", "third"))
	if err := os.Mkdir(p.Path("out"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.Env = append(p.Env, "CONTAINER_HOST=unix://"+p.PodmanService())
	p.InNamespaces("mount -t tmpfs -o size=512k tmpfs " + p.Path("out"))
	g := p.NewGate(rig.Echo)
	h := g.Hold("say second")
	c := p.Start()
	c.AwaitTrial("first")
	h.Await(t)
	// The folder is on a disk that only the run's own namespace sees, for as long as it's open here.
	out, err := os.OpenRoot(fmt.Sprintf("/proc/%d/root%s", c.Cmd.Process.Pid, p.Path("out")))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	rig.Fill(t, out)
	close(h.Release)
	r := c.Wait()
	r.Expect(t, 4, "results_not_saved: the disk is full", "--resume")
	traces, err := fs.Glob(out.FS(), "runs/*/traces/default/*/0.json")
	if err != nil || len(traces) != 1 || !strings.Contains(traces[0], "/first/") {
		t.Fatalf("traces: %v, %v", traces, err)
	}
	body, err := out.ReadFile(traces[0])
	if err != nil || !strings.Contains(string(body), `"finalText": "say first"`) {
		t.Errorf("%v in %s", err, body)
	}
	p.NoTrace()
}
