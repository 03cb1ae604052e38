package channel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCommand(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	big := strings.Repeat("0123456789abcdef", 10<<20/16)
	tests := map[string]struct {
		cmd            Command
		stdin          *string
		code           int
		stdout, stderr string
	}{
		"status":          {cmd: sh("exit 7"), code: 7},
		"signal":          {cmd: sh("kill -9 $$"), code: 137},
		"not found":       {cmd: Command{Args: []string{"no-such-program"}}, code: 127, stderr: "berth: exec: \"no-such-program\": executable file not found in $PATH\n"},
		"not executable":  {cmd: Command{Args: []string{"/etc/passwd"}}, code: 126, stderr: "berth: fork/exec /etc/passwd: permission denied\n"},
		"apart":           {cmd: sh("echo out; echo err >&2"), stdout: "out\n", stderr: "err\n"},
		"environment":     {cmd: Command{Args: []string{"sh", "-c", "echo $BERTH_X"}, Env: []string{"BERTH_X=1 2"}}, stdout: "1 2\n"},
		"folder":          {cmd: Command{Args: []string{"pwd"}, Dir: "/proc"}, stdout: "/proc\n"},
		"home by default": {cmd: sh("basename $(pwd)"), stdout: "home\n"},
		"no stdin":        {cmd: sh("cat"), stdout: ""},
		"empty stdin":     {cmd: sh("cat"), stdin: new(""), stdout: ""},
		"short stdin":     {cmd: sh("cat"), stdin: new("0123456789"), stdout: "0123456789"},
		"10 Mi of stdin":  {cmd: sh("cat"), stdin: &big, stdout: big},
		"stdin not read":  {cmd: sh("exit 3"), stdin: &big, code: 3},
		"background":      {cmd: sh("sleep 600 & echo $!"), stdout: "*"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			tt.cmd.Stdout, tt.cmd.Stderr = &stdout, &stderr
			if tt.stdin != nil {
				tt.cmd.Stdin = strings.NewReader(*tt.stdin)
			}
			result, err := c.Command(t.Context(), tt.cmd)
			if err != nil || result.Code != tt.code {
				t.Fatalf("Command = %+v, %v; want code %d", result, err, tt.code)
			}
			if tt.stdout == "*" {
				pid, err := strconv.Atoi(strings.TrimSpace(stdout.String()))
				if err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
					t.Errorf("the background process %q isn't there any more (%v)", stdout.String(), err)
				}
				return
			}
			if stdout.String() != tt.stdout || stderr.String() != tt.stderr {
				t.Errorf("stdout has %d bytes, stderr %q; want %d, %q", stdout.Len(), stderr.String(), len(tt.stdout), tt.stderr)
			}
		})
	}
}

func sh(script string) Command { return Command{Args: []string{"sh", "-c", script}} }

func TestCommandWithoutArguments(t *testing.T) {
	c := dial(t, newShard(t).open(nil), Options{})
	if _, err := c.Command(t.Context(), Command{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("Command = %v, want ErrInvalid", err)
	}
}

// TestStdinThatBlocks: a command doesn't wait for a Stdin reader that outlives it.
func TestStdinThatBlocks(t *testing.T) {
	c := dial(t, newShard(t).open(nil), Options{})
	r, w := io.Pipe()
	defer w.Close()
	cmd := sh("exit 5")
	cmd.Stdin = r
	if result, err := c.Command(t.Context(), cmd); err != nil || result.Code != 5 {
		t.Errorf("Command = %+v, %v", result, err)
	}
}

// TestSlowReader: what a command has written comes whole to who takes it later than the command ends.
func TestSlowReader(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	taken := &lateWriter{begin: make(chan struct{})}
	// It writes as long as there is room anywhere on the way, so that it leaves a full pipe behind.
	cmd := sh(`n=0
while [ $n -lt 20 ]; do
	dd if=/dev/zero bs=4096 oflag=nonblock 2>last
	grep '^[0-9]* bytes' last >>wrote
	if grep -q '^0 bytes' last; then n=$((n+1)); else n=0; fi
	sleep 0.01
done
mv wrote ended`)
	cmd.Stdout, cmd.Env = taken, []string{"LC_ALL=C"}
	ended := make(chan error, 1)
	go func() {
		_, err := c.Command(t.Context(), cmd)
		ended <- err
	}()
	var wrote []byte
	for late := time.Now().Add(time.Minute); wrote == nil; time.Sleep(10 * time.Millisecond) {
		wrote, _ = os.ReadFile(filepath.Join(s.dir, "home", "ended")) // not there yet
		if time.Now().After(late) {
			t.Fatal("the command doesn't end")
		}
	}
	size := 0
	for _, m := range regexp.MustCompile(`(?m)^(\d+) bytes`).FindAllSubmatch(wrote, -1) {
		n, _ := strconv.Atoi(string(m[1])) // digits
		size += n
	}
	time.Sleep(3 * outputWait) // what is awaited is that nothing happens
	close(taken.begin)
	if err := <-ended; err != nil || taken.n != size || size < streamWindow {
		t.Errorf("%d bytes came of %d, %v", taken.n, size, err)
	}
}

// lateWriter takes nothing before begin is closed.
type lateWriter struct {
	begin chan struct{}
	n     int
}

func (w *lateWriter) Write(p []byte) (int, error) {
	<-w.begin
	w.n += len(p)
	return len(p), nil
}

// tree starts a process, one below it, and one that left its session, and tells their pids.
const tree = `sleep 600 & a=$!; setsid sh -c 'echo $$; exec sleep 600' & echo $a $$; wait`

// startTree runs tree until it has told three pids; its result comes over the channel.
func startTree(t *testing.T, ctx context.Context, c *Client) ([]int, <-chan error) {
	t.Helper()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	cmd := sh(tree)
	cmd.Stdout = w
	go func() {
		_, err := c.Command(ctx, cmd)
		w.Close()
		ended <- err
	}()
	var pids [3]int
	if _, err := fmt.Fscan(r, &pids[0], &pids[1], &pids[2]); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, r)
	return pids[:], ended
}

func TestCancelledCommandIsKilledWithItsTree(t *testing.T) {
	needsProc(t)
	c := dial(t, newShard(t).open(nil), Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	pids, ended := startTree(t, ctx, c)
	cause := errors.New("enough")
	cancel(cause)
	if err := <-ended; !errors.Is(err, cause) {
		t.Errorf("Command = %v, want the context's cause", err)
	}
	assertDead(t, pids)
}

func TestCommandDiesWithItsLink(t *testing.T) {
	needsProc(t)
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	pids, ended := startTree(t, t.Context(), c)
	s.cut()
	if err := <-ended; !errors.Is(err, ErrInterrupted) {
		t.Errorf("Command = %v, want ErrInterrupted", err)
	}
	// The next link is only answered when the last one's commands are dead.
	if result, err := c.Command(t.Context(), sh("exit 4")); err != nil || result.Code != 4 {
		t.Errorf("Command on the next link = %+v, %v", result, err)
	}
	assertDead(t, pids)
}

func needsProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs Linux's /proc")
	}
}

// assertDead takes a zombie for dead: whose child it became reaps it when it likes.
func assertDead(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && !strings.Contains(string(stat), ") Z ") {
			t.Errorf("process %d is alive: %s", pid, stat)
		}
	}
}
