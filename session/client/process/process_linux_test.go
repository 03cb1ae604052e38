package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func start(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// readPIDs reads n process ids, one a line.
func readPIDs(t *testing.T, r io.Reader, n int) []int {
	t.Helper()
	var pids []int
	for s := bufio.NewScanner(r); len(pids) < n && s.Scan(); {
		pid, err := strconv.Atoi(s.Text())
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != n {
		t.Fatalf("%d of %d process ids", len(pids), n)
	}
	return pids
}

// alive tells whether pid is a process that isn't dead, waited for or not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// left tells whether pid lives on: what was killed takes a moment to be dead. None of the test's ends by itself.
func left(pid int) bool {
	for deadline := time.Now().Add(time.Minute); alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return true
		}
	}
	return false
}

func TestExchange(t *testing.T) {
	p := start(t, `read line; echo "got $line, $HOME"; echo oops >&2; exit 3`)
	if _, err := io.WriteString(p.Stdin, "hello\n"); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(p.Stdout)
	if err != nil || string(out) != "got hello, \n" {
		t.Errorf("stdout %q, error %v", out, err)
	}
	<-p.Done()
	if err := p.End(context.Background()); err != nil {
		t.Error(err)
	}
	if p.Exit() != "exit status 3" {
		t.Errorf("exit %q", p.Exit())
	}
}

// TestEndWhole: children in the background, deaf to SIGTERM, in other sessions: none is left.
func TestEndWhole(t *testing.T) {
	tests := []struct{ name, script string }{
		{"background child", `sleep 1000 & echo $!; echo $$; wait`},
		{"deaf to SIGTERM", `trap '' TERM; sleep 1000 & echo $!; echo $$; while :; do wait; done`},
		{"another session", `setsid sh -c 'echo $$; exec sleep 1000' & echo $$; wait`},
		{"orphan that holds stdout", `setsid sh -c 'sleep 1000 & echo $!' ; echo $$; exit 0`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, tt.script)
			pids := readPIDs(t, p.Stdout, 2)
			ctx, cancel := context.WithCancel(context.Background())
			if tt.name == "deaf to SIGTERM" {
				cancel() // the grace is not what's tested
			}
			defer cancel()
			if err := p.End(ctx); err != nil {
				t.Error(err)
			}
			for _, pid := range pids {
				if left(pid) {
					t.Errorf("process %d is left", pid)
				}
			}
		})
	}
}

// TestEndAfterKill: what a killed program leaves behind is ended too.
func TestEndAfterKill(t *testing.T) {
	p := start(t, `setsid sleep 1000 & echo $!; wait`)
	child := readPIDs(t, p.Stdout, 1)[0]
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if !alive(child) {
		t.Fatal("the child ended by itself")
	}
	if err := p.End(context.Background()); err != nil {
		t.Error(err)
	}
	if left(child) || p.Exit() != "signal: killed" {
		t.Errorf("child alive %v, exit %q", alive(child), p.Exit())
	}
}

func TestStderrIsBounded(t *testing.T) {
	p := start(t, `yes 0123456789 | head -n 20000 >&2; echo end >&2; echo`)
	if _, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if err := p.End(context.Background()); err != nil {
		t.Fatal(err)
	}
	const line = "0123456789\n"
	if s, want := p.Stderr(), strings.Repeat(line, (stderrLimit-len("end\n"))/len(line))+"end\n"; s != want {
		t.Errorf("%d bytes kept, want %d: %q to %q", len(s), len(want), s[:min(len(s), 16)], s[max(0, len(s)-16):])
	}
}

// TestLastWords: what a program says before it exits has been read when that is known, also where a child
// keeps its stderr open.
func TestLastWords(t *testing.T) {
	for i := range 50 {
		p := start(t, `sleep 1000 & echo first >&2; echo last >&2; exit 1`)
		<-p.Done()
		if s := p.Stderr(); s != "first\nlast\n" {
			t.Errorf("start %d: said %q", i, s)
		}
		if err := p.End(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestStartFails(t *testing.T) {
	if _, err := Start(Spec{Path: "/no/such/program"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// TestJoined: stdout and stderr come together, as much of them as is asked for, and the program's
// children are its own.
func TestJoined(t *testing.T) {
	p, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", "echo out; echo err >&2; setsid sleep 1000 & wait"}, Env: []string{"PATH=/usr/bin:/bin"}, Joined: true, Keep: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(p.Stdout); err != nil || len(b) != 0 {
		t.Errorf("on stdout %q, error %v", b, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	child := 0
	for child == 0 {
		if ctx.Err() != nil {
			t.Fatal("no child")
		}
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p.PID(), p.PID()))
		child, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	}
	if !p.Owns(child) || !p.Owns(p.PID()) || p.Owns(os.Getpid()) {
		t.Error("owns the wrong processes")
	}
	if err := p.End(context.Background()); err != nil {
		t.Error(err)
	}
	if s := p.Stderr(); s != "out\nerr\n" {
		t.Errorf("said %q", s)
	}
}
