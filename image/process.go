package image

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// interruptGrace is how long a program has to clean up after an interrupt.
const interruptGrace = 15 * time.Second

// helperEnv is berth's environment without the credentials that berth itself takes from it: no build
// needs a model.
func helperEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "OPENAI_") || strings.HasPrefix(e, "MST_")
	})
}

// command is a program that inherits the cache's lock: should this process be killed, the cache
// stays locked until the program has gone too, and nobody cleans up under it.
func (c *cache) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = helperEnv()
	cmd.ExtraFiles = []*os.File{c.held}
	// A group of its own, so that an interrupt reaches what the program started too (mmdebstrap waits
	// for dpkg otherwise), and a terminal's Ctrl-C reaches it once.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = interruptGrace
	return cmd
}

// wait waits for a started command. When it returns after a cancellation, nothing that the command
// started is left to write anything.
func wait(ctx context.Context, cmd *exec.Cmd) error {
	err := ended(ctx, cmd.Wait())
	if ctx.Err() != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // mostly nobody is left
	}
	return err
}

// lines passes on what is written to it line by line, and keeps the last ones.
type lines struct {
	each func(string)
	part []byte
	last []string
}

// keptLines is enough to hold the cause of what follows from it.
const keptLines = 40

var _ io.Writer = (*lines)(nil)

func (l *lines) Write(b []byte) (int, error) {
	l.part = append(l.part, b...)
	for {
		line, rest, ok := bytes.Cut(l.part, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		l.line(strings.TrimSpace(string(line)))
		l.part = rest
	}
}

func (l *lines) line(s string) {
	if s == "" {
		return
	}
	if l.last = append(l.last, s); len(l.last) > keptLines {
		l.last = l.last[1:]
	}
	if l.each != nil {
		l.each(s)
	}
}

// cause is the first kept line with one of the prefixes, else the last line.
func (l *lines) cause(prefixes ...string) string {
	for _, p := range prefixes {
		for _, s := range l.last {
			if strings.HasPrefix(s, p) {
				return s
			}
		}
	}
	if len(l.last) == 0 {
		return "it said nothing"
	}
	return l.last[len(l.last)-1]
}

// outOfSpace tells whether the program ran out of disk, which only its words say.
func (l *lines) outOfSpace() error {
	for _, s := range l.last {
		if strings.Contains(s, "No space left on device") || strings.Contains(s, "ENOSPC") {
			return syscall.ENOSPC
		}
	}
	return nil
}

// ended is why a program failed: the cancellation, if there was one, comes first.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // it ended well, and something that it started holds its output
	}
	return err
}
