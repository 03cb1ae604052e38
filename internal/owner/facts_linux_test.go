package owner

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain is also the child of TestKilledOwner: it says that it is up and waits to be killed, or for
// its parent's end.
func TestMain(m *testing.M) {
	if os.Getenv("OWNER_TEST_CHILD") != "" {
		os.Stdout.WriteString("up\n")
		io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

// TestKilledOwner follows a real process: alive, killed and not yet reaped, gone.
func TestKilledOwner(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe)
	child.Env = append(os.Environ(), "OWNER_TEST_CHILD=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("child says %q, %v", line, err)
	}
	id, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	id.PID = child.Process.Pid
	if id.Start, err = startTime(id.PID); err != nil {
		t.Fatal(err)
	}
	expect := func(want Verdict, when string) {
		t.Helper()
		if got, err := id.Judge(); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", when, got, err, want)
		}
	}
	expect(Alive, "running")
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitForEnd(t, id.PID)
	expect(Dead, "killed, not reaped")
	child.Wait()
	expect(Dead, "reaped")
}

// waitForEnd returns when a child has ended, and leaves it unreaped.
func waitForEnd(t *testing.T, pid int) {
	t.Helper()
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}

func TestSelfIsAlive(t *testing.T) {
	id, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	if id.PID != os.Getpid() || id.Boot == "" || id.PIDNamespace == "" || id.Start == "" {
		t.Errorf("incomplete: %+v", id)
	}
	if (id.PIDNamespace != initialPIDNamespace) && id.Host != "" {
		t.Errorf("a container takes its machine id for the host's: %+v", id)
	}
	if v, err := id.Judge(); err != nil || v != Alive {
		t.Errorf("%v, %v", v, err)
	}
}

// TestForeignProcess: pid 1 belongs to root, and is there for everybody.
func TestForeignProcess(t *testing.T) {
	start, err := startTime(1)
	if errors.Is(err, errGone) || err == nil && start == "" {
		t.Errorf("pid 1: %q, %v", start, err)
	}
}

func TestParseStat(t *testing.T) {
	const rest = " 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 100 200"
	for stat, want := range map[string]string{
		"7 (sh) S" + rest:          "12345",
		"7 (a b) R) Z 9) R" + rest: "12345",
		"7 (a\nb (c)) D" + rest:    "12345",
	} {
		if got, err := parseStat([]byte(stat)); err != nil || got != want {
			t.Errorf("%q: %q, %v", stat, got, err)
		}
	}
	for _, state := range []string{"Z", "X"} {
		if _, err := parseStat([]byte("7 (sh) " + state + rest)); !errors.Is(err, errGone) {
			t.Errorf("%s: %v", state, err)
		}
	}
	for _, stat := range []string{"", "7 (sh", "7 (sh) S 1 2"} {
		if got, err := parseStat([]byte(stat)); err == nil {
			t.Errorf("%q: %q", stat, got)
		}
	}
}
