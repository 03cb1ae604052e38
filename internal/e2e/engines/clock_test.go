package engines

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/e2e/rig"
)

// envClock names a FIFO whose reader sets the machine's clock to each line's seconds since 1970. The machine
// of scripts/vm has one.
const envClock = "BERTH_TEST_CLOCK"

// mayClock tells that the machine's clock may be set for real, which only one of the tests' own can bear.
func mayClock() bool { return os.Getenv(envClock) != "" }

// clockSet sets the clock a day ahead in the middle of one trial, and two days back in the middle of the next.
func clockSet(t *testing.T, tools rig.Tools) {
	m := tools.Midway(t)
	third := m.Gate.Hold("say third")
	setClock(t, 26*time.Hour)
	close(m.Hold.Release)
	m.Run.AwaitTrial("second")
	third.Await(t)
	setClock(t, -52*time.Hour)
	close(third.Release)
	r := m.Run.Wait()
	r.Expect(t, 0)
	r.Ended(t, "passed", "passed", "passed")
	m.AskedOnce("first", "second", "third")
	m.NothingLeft()
}

// setClock moves it, and moves it back with the test's end.
func setClock(t *testing.T, by time.Duration) {
	t.Helper()
	moveClock(t, by)
	t.Cleanup(func() { moveClock(t, -by) })
}

func moveClock(t *testing.T, by time.Duration) {
	t.Helper()
	before := time.Now()
	fifo, err := os.OpenFile(os.Getenv(envClock), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	if _, err := fmt.Fprintln(fifo, before.Add(by).Unix()); err != nil {
		t.Fatal(err)
	}
	for late := time.After(time.Minute); ; {
		// By the wall's clock, less what passed by the one that nobody sets.
		if moved := time.Now().Round(0).Sub(before.Round(0)) - time.Since(before); (moved - by).Abs() < time.Minute {
			return
		}
		select {
		case <-late:
			t.Fatalf("the clock wasn't set by %v", by)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
