package execkill

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestKillTree runs a real tree: a marked shell with a child that has its mark taken away, one of
// those in a session of its own, all ignoring SIGTERM.
func TestKillTree(t *testing.T) {
	const id = "fedcba9876543210"
	script := `trap '' TERM
env -u ` + EnvVar + ` sh -c 'trap "" TERM; echo ready; while :; do sleep 1000; done' &
env -u ` + EnvVar + ` setsid sh -c 'echo ready; exec sleep 1000' &
wait`
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // as an engine does
	cmd.Env = append(os.Environ(), EnvVar+"="+id)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for range 2 {
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if err := Kill(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	// The pipe ends only when every process that holds it is gone.
	if rest, err := lines.ReadString('\n'); err == nil {
		t.Fatalf("still writing: %q", rest)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("ended with %v, want a signal", err)
	}
}

// TestKillShedder marks a process whose child sheds everything but the limit: it clears its
// environment, leads a session and has lost its parent.
func TestKillShedder(t *testing.T) {
	const id = "0f1e2d3c4b5a69788796"
	cmd := exec.Command("sh", "-c", "read go; env -i setsid sh -c 'echo $$; echo $PPID; exec sleep 1000' & exec sleep 1000")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := Mark(cmd.Process.Pid, id); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for range 2 {
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	// The parent goes first, by another hand, so that the child is an orphan before anybody looks.
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := Kill(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if rest, err := lines.ReadString('\n'); err == nil {
		t.Fatalf("still writing: %q", rest)
	}
}

// TestKillSession: a process without any mark, whose parent is gone, is found by a session that is told.
func TestKillSession(t *testing.T) {
	const id = "aabbccddeeff00112233"
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!; exec sleep 1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := Kill(t.Context(), id, cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	// The pipe ends only when every process that holds it is gone.
	if rest, err := lines.ReadString('\n'); err == nil {
		t.Fatalf("still writing: %q", rest)
	}
}

// TestKillOrphanBecoming kills an orphan in a session of its own at the moment in which it becomes another
// program: nothing tells whose it is then.
func TestKillOrphanBecoming(t *testing.T) {
	for i := range 100 {
		id := fmt.Sprintf("becoming%016d", i)
		cmd := exec.Command("sh", "-c", "setsid sh -c 'sleep 1000 >/dev/null 2>&1 & echo $!'")
		cmd.Env = append(os.Environ(), EnvVar+"="+id)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			t.Fatal(err)
		}
		if err := Kill(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if left := Marked(pid, id); left {
			t.Errorf("process %d is left", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestKillFindsNone(t *testing.T) {
	if err := Kill(t.Context(), "00000000000000000000"); err != nil {
		t.Fatal(err)
	}
}

func TestKillShortID(t *testing.T) {
	if err := Kill(context.Background(), ""); err == nil {
		t.Fatal("an empty id was taken")
	}
}
