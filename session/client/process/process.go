// Package process runs one program of a trial so that it can be ended whole: in a session of its own,
// with a mark in its environment by which everything that came of it is found. It's for programs that
// speak over stdio (an app server, an MCP server) and for those that only say something (an app), and
// keeps only the end of that.
package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-run/berth/internal/execkill"
	"github.com/berth-run/berth/internal/pipe"
)

// Limits of End: how long a program has after SIGTERM, and then after SIGKILL (contract §4.1).
const (
	TermGrace = 5 * time.Second
	KillGrace = 5 * time.Second
)

// stderrLimit is how much of a program's stderr is kept unless it's said, in bytes.
const stderrLimit = 64 << 10

// ErrLeft: some process of the program is still there after End.
var ErrLeft = execkill.ErrLeft

// Spec is a program to start. Nothing is inherited: Env is all of its environment but for the mark.
type Spec struct {
	Path string
	Args []string // without the program's name
	Dir  string
	Env  []string
	// Mark, from NewMark, is shared by programs that are to be ended together; "" gets one of its own.
	Mark string
	// Keep is how much of the end of stderr is kept, in bytes; 0 is 64 KiB.
	Keep int
	// Joined sends stdout where stderr goes; Process.Stdout is empty then.
	Joined bool
}

// NewMark makes a mark that no other program has.
func NewMark() string { return rand.Text() }

// MarkEnv is the environment variable that carries a mark. A program that hands a cleaned environment
// to its own children must be told to hand on this one.
func MarkEnv(mark string) (name, value string) { return execkill.EnvVar, mark }

// Process is a started program.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser

	cmd    *exec.Cmd
	mark   string
	stderr *tail
	pipe   *os.File // our end of stderr
	done   chan struct{}
	read   chan struct{} // what is in stderr when the program has exited
	copied chan struct{} // stderr came to its end

	once sync.Once
	left error // what End found
}

// Start runs a program. Whoever starts one ends it with End, also when it exited by itself.
func Start(s Spec) (*Process, error) {
	if s.Mark == "" {
		s.Mark = NewMark()
	}
	pipes, err := newPipes()
	if err != nil {
		return nil, err
	}
	name, value := MarkEnv(s.Mark)
	cmd := exec.Command(s.Path, s.Args...)
	cmd.Dir = s.Dir
	cmd.Env = append(append([]string(nil), s.Env...), name+"="+value)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.theirs[0], pipes.theirs[1], pipes.theirs[2]
	if s.Joined {
		cmd.Stdout = pipes.theirs[2]
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	pipes.closeTheirs()
	if err != nil {
		pipes.closeOurs()
		return nil, err
	}
	_ = execkill.Mark(cmd.Process.Pid, s.Mark) // it may have ended; and the environment has the mark, too
	p := &Process{
		Stdin: pipes.ours[0], Stdout: pipes.ours[1], pipe: pipes.ours[2],
		cmd: cmd, mark: s.Mark, stderr: &tail{limit: cmp.Or(s.Keep, stderrLimit)}, done: make(chan struct{}),
		read: make(chan struct{}), copied: make(chan struct{}),
	}
	go p.wait()
	go p.copyStderr()
	return p, nil
}

// copyStderr ends when the pipe is closed, by either side. On the way it's interrupted once, by wait.
func (p *Process) copyStderr() {
	defer close(p.copied)
	if _, err := io.Copy(p.stderr, p.pipe); !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	_, _ = io.Copy(p.stderr, pipe.Ready(p.pipe))
	close(p.read)
	_ = p.pipe.SetReadDeadline(time.Time{}) // it fails when the pipe is closed
	_, _ = io.Copy(p.stderr, p.pipe)
}

// wait closes done when the program's last words have been read. There may be no end to what its children
// say.
func (p *Process) wait() {
	_ = p.cmd.Wait() // what it says is in ProcessState
	_ = p.pipe.SetReadDeadline(time.Unix(1, 0))
	select {
	case <-p.read:
	case <-p.copied:
	}
	close(p.done)
}

// PID is the program's, and its session's, id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the program itself has exited; what it started may still be there.
func (p *Process) Done() <-chan struct{} { return p.done }

// Owns tells whether a process is the program's, or came of it.
func (p *Process) Owns(pid int) bool {
	session, err := unix.Getsid(pid)
	return err == nil && session == p.PID() || execkill.Marked(pid, p.mark)
}

// Exit says how the program ended, such as "exit status 3" or "signal: killed", "" while it runs.
func (p *Process) Exit() string {
	select {
	case <-p.done:
		return p.cmd.ProcessState.String()
	default:
		return ""
	}
}

// Stderr is the end of what it wrote there so far, from the beginning of a line. Once Done is closed, all is
// there that the program itself has said.
func (p *Process) Stderr() string { return p.stderr.String() }

// End closes stdin, asks the whole session to end and kills what is left of the program, wherever it
// went. It fails with ErrLeft if that didn't help. When ctx ends the grace is over. A second End gives
// the first one's error.
func (p *Process) End(ctx context.Context) error {
	p.once.Do(func() {
		p.Stdin.Close()
		p.terminate(ctx)
		if p.left = p.kill(); p.left == nil {
			p.drain()
		}
		p.Stdout.Close()
		p.pipe.Close()
	})
	return p.left
}

// terminate gives a running program the chance to end by itself. Its process group's number is only
// safe to use while the program hasn't been waited for.
func (p *Process) terminate(ctx context.Context) {
	if p.Exit() != "" {
		return
	}
	_ = syscall.Kill(-p.PID(), syscall.SIGTERM) // ESRCH: it's ending
	grace := time.NewTimer(TermGrace)
	defer grace.Stop()
	select {
	case <-p.done:
	case <-grace.C:
	case <-ctx.Done():
	}
}

// drain waits for the end of stderr, which comes at once when nobody is left that could write there.
func (p *Process) drain() {
	select {
	case <-p.copied:
	case <-time.After(TermGrace):
	}
}

func (p *Process) kill() error {
	if p.Exit() == "" {
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL) // ESRCH: it's ending; execkill finds the rest
	}
	ctx, cancel := context.WithTimeout(context.Background(), KillGrace)
	defer cancel()
	if err := execkill.Kill(ctx, p.mark, p.PID()); err != nil {
		return fmt.Errorf("ending %s: %w", p.cmd.Path, err)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		if p.Exit() == "" { // both may be so
			return fmt.Errorf("ending %s: %w", p.cmd.Path, errors.Join(ErrLeft, ctx.Err()))
		}
	}
	return nil
}
