package engines

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/e2e/rig"
)

const (
	// envSeed repeats a test's random points.
	envSeed = "BERTH_TEST_SEED"
	// points are how often berth is killed.
	points = 10
)

// killedAnywhere kills berth with -9 at random points of a run, one in each tenth of the time that a run
// takes: before there is a shard, while it's made, started, linked, at work, and taken away. Each time a
// sweep leaves nothing, and no trial that berth has told of is lost.
func killedAnywhere(t *testing.T, tools rig.Tools) {
	random := seeded(t)
	start := time.Now()
	gated(t, tools).Run().Expect(t, 0)
	whole := time.Since(start)
	for i := range points {
		after := time.Duration((float64(i) + random.Float64()) / points * float64(whole))
		t.Run(fmt.Sprintf("in tenth %d", i+1), func(t *testing.T) {
			t.Logf("after %s of %s", after, whole)
			killedAfter(t, gated(t, tools), after)
		})
	}
}

// gated is a project of three cases, and a gateway for them.
func gated(t *testing.T, tools rig.Tools) *rig.Project {
	t.Helper()
	p := tools.Project(t, rig.SayCases("first", "second", "third"))
	p.NewGate(rig.Echo)
	return p
}

func killedAfter(t *testing.T, p *rig.Project, after time.Duration) {
	t.Helper()
	c := p.Start()
	time.Sleep(after)
	_ = c.Cmd.Process.Kill() // it may have ended
	r := c.Wait()
	p.OnlyShardsLeft()
	p.OnEngine("sweep").Expect(t, 0)
	rig.NothingOn(t, p.Engine)
	p.NothingLeft()
	keptTrials(t, r)
}

// keptTrials checks that what berth has told of is on disk.
func keptTrials(t *testing.T, r rig.Result) {
	t.Helper()
	for line := range strings.Lines(r.Stderr) {
		f := strings.Fields(line) // [berth] shard 1/1: VARIANT CASE #TRIAL collected
		if len(f) < 7 || f[6] != "collected" {
			continue
		}
		if _, err := os.Stat(filepath.Join(r.Dir, "traces", f[3], f[4], "0.json")); err != nil {
			t.Errorf("%s was told of: %v", f[4], err)
		}
	}
}

// killedAtImport kills a set-up while it gives the image to the engine.
func killedAtImport(t *testing.T, tools rig.Tools) {
	random := seeded(t)
	p := tools.Project(t, nil)
	c := p.StartSetUp("localhost/berth-e2e:killed")
	c.Await("import: ")
	time.Sleep(time.Duration(random.Float64() * float64(time.Second)))
	_ = c.Cmd.Process.Signal(syscall.SIGKILL)
	c.Wait()
	p.OnlyShardsLeft()
	p.OnEngine("sweep").Expect(t, 0)
	p.NothingLeft()
}

// seeded gives random numbers, and says how to have them again.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(envSeed); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", envSeed, seed)
	return rand.New(rand.NewPCG(seed, 0))
}
