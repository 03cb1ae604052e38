package execkill

import (
	"bufio"
	"context"
	"os"
	"os/exec"
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
