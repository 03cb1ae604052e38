package channel

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/berth-run/berth/internal/execkill"
	"github.com/hashicorp/yamux"
)

// killWait bounds the chase after processes that fork while they are being killed.
const killWait = 5 * time.Second

// command runs one process, started once and killed with all its descendants when ctx ends.
func (s *Server) command(ctx context.Context, stream *yamux.Stream, r commandRequest) {
	if len(r.Args) == 0 {
		writeReply(stream, nil, fmt.Errorf("%w: a command without arguments", ErrInvalid))
		return
	}
	id := rand.Text()
	cmd := exec.CommandContext(ctx, r.Args[0], r.Args[1:]...)
	cmd.Env = append(append(os.Environ(), r.Env...), execkill.EnvVar+"="+id)
	cmd.Dir = cmp.Or(r.Dir, s.opts.Home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return killTree(cmd.Process.Pid, id) }
	cmd.WaitDelay = outputWait
	outs, err := outputs(cmd, stream)
	if err != nil {
		writeReply(stream, nil, err)
		return
	}
	defer leave(outs)

	var started struct {
		ID uint64 `json:"id"`
	}
	if r.Stdin {
		pipe, err := cmd.StdinPipe()
		if err != nil {
			writeReply(stream, nil, err)
			return
		}
		started.ID = s.stdins.add(pipe)
		defer s.stdins.remove(started.ID)
	}
	if writeReply(stream, started, nil) != nil {
		return
	}
	code, err := run(ctx, cmd, id, outs)
	if ctx.Err() != nil {
		return // the coordinator has hung up, and learns from the stream's end that all is dead
	}
	if err != nil {
		writeFrame(stream, kindStderr, fmt.Appendf(nil, "berth: %v\n", err))
	}
	writeReply(stream, CommandResult{Code: code}, nil)
}

// run gives the exit status as a shell would, and the reason where the process couldn't be started.
func run(ctx context.Context, cmd *exec.Cmd, id string, outs []*output) (int, error) {
	defer settle(ctx, outs)
	err := cmd.Start()
	leave(outs)
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return 127, err
		}
		return 126, err
	}
	// It may have ended; and the environment has the mark, too.
	_ = execkill.Mark(cmd.Process.Pid, id)
	_ = cmd.Wait() // what it says is in ProcessState
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// killTree kills whatever came of the command. Its group isn't killed ahead of that: a process that
// has just left it would lose the parent that it is found by.
func killTree(pid int, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), killWait)
	defer cancel()
	err := execkill.Kill(ctx, id)
	if err != nil {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // no /proc to search: the most that can be done
	}
	return err
}

// stdins are the commands that wait for their stdin stream.
type stdins struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]io.WriteCloser
}

func (t *stdins) add(w io.WriteCloser) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[uint64]io.WriteCloser{}
	}
	t.last++
	t.open[t.last] = w
	return t.last
}

func (t *stdins) remove(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, id)
}

// feed copies a stdin stream into its process. Only the content's own end closes the pipe: a process
// must not take a lost link for the end of its input.
func (t *stdins) feed(id uint64, r io.Reader) {
	t.mu.Lock()
	w := t.open[id]
	t.mu.Unlock()
	if w == nil {
		return
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{w}, r, make([]byte, outputMax)); err == nil {
		w.Close()
	}
}
