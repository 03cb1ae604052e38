package owner

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
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
	if os.Getenv("OWNER_TEST_ELSEWHERE") != "" {
		os.Exit(elsewhere())
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

// TestProcOfAnother judges in a PID namespace of its own, where /proc still shows the processes of the one
// outside: there the own number is some other process's, or nobody's.
func TestProcOfAnother(t *testing.T) {
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), "OWNER_TEST_ELSEWHERE=1")
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := child.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skip("this host allows no user namespaces; set kernel.unprivileged_userns_clone=1")
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// elsewhere is the process in that namespace: its PID 1, with a child.
func elsewhere() int {
	id, err := Self()
	fail := func(what string, v Verdict, err error) int {
		fmt.Printf("%s: %v, %v; %+v\n", what, v, err, id)
		return 1
	}
	own, _ := os.ReadFile("/proc/self/stat")
	if start, _ := parseStat(own); err != nil || id.Start != start {
		return fail("self", Unknown, err)
	}
	if v, err := id.Judge(); v != Alive || err != nil {
		return fail("self", v, err)
	}
	other := exec.Command("/bin/sh", "-c", "read -r _")
	in, err := other.StdinPipe()
	if err != nil || other.Start() != nil {
		return fail("child", Unknown, err)
	}
	id.PID = other.Process.Pid
	if v, err := id.Judge(); v != Unknown || err != nil {
		return fail("child that runs", v, err)
	}
	_ = in.Close()
	_ = other.Wait()
	if v, err := id.Judge(); v != Dead || err != nil {
		return fail("child that has ended", v, err)
	}
	return 0
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
