package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// reap waits for orphans, which PID 1 inherits, until ctx ends.
func reap(ctx context.Context) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGCHLD)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-c:
				for pid := 1; pid > 0; {
					pid, _ = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
				}
			}
		}
	}()
}

// raise ends the process by signal N.
func raise(ctx context.Context, args []string, _ Stdio) (int, error) {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return 2, err
	}
	if err := syscall.Kill(os.Getpid(), syscall.Signal(n)); err != nil {
		return 2, err
	}
	<-ctx.Done()
	return 1, nil
}

// tree starts two blocking descendants, one with an environment and a session of its own, says ready,
// and blocks.
func tree(ctx context.Context, args []string, s Stdio) (int, error) {
	for _, setsid := range []bool{false, true} {
		child := exec.Command("/proc/self/exe")
		child.Args = []string{"probe", "block"}
		child.Env = []string{}
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
		if err := startReady(child); err != nil {
			return 1, err
		}
	}
	return block(ctx, args, s)
}

// orphan leaves a blocking child behind that holds its stdout and stderr, and ends.
func orphan(_ context.Context, _ []string, s Stdio) (int, error) {
	child := exec.Command("/proc/self/exe")
	child.Args = []string{"probe", "block"}
	child.Stdout, child.Stderr = s.Stdout, s.Stderr
	return 0, child.Start()
}

func startReady(cmd *exec.Cmd) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = out.Read(make([]byte, len("ready\n")))
	return err
}

// ps lists the shard's processes but for PID 1 and itself, zombies left out.
func ps(_ context.Context, _ []string, s Stdio) (int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 1, err
	}
	procs := []Proc{}
	for _, path := range stats {
		p, ok := readProc(filepath.Dir(path))
		if ok && p.PID != 1 && p.PID != os.Getpid() {
			procs = append(procs, p)
		}
	}
	return 0, json.NewEncoder(s.Stdout).Encode(procs)
}

func readProc(dir string) (Proc, bool) {
	b, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Proc{}, false
	}
	var p Proc
	var state string
	var pgrp int
	rest := string(b[strings.LastIndexByte(string(b), ')')+1:])
	if _, err := fmt.Sscan(rest, &state, &p.PPID, &pgrp, &p.SID); err != nil || state == "Z" || state == "X" {
		return Proc{}, false
	}
	p.PID, err = strconv.Atoi(filepath.Base(dir))
	args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	p.Args = strings.TrimRight(strings.ReplaceAll(string(args), "\x00", " "), " ")
	return p, err == nil
}
