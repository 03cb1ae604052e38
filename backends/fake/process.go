package fake

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/berth-run/berth/backends"
)

// process is one run of a program.
type process struct {
	ctx    context.Context
	cancel context.CancelFunc
	io     ProcessIO
	stdout *output
	stderr *output

	mu  sync.Mutex
	err error // of the caller's reader or writers
}

func newProcess(ctx context.Context, shardID string, p backends.Process) *process {
	pr := &process{}
	pr.ctx, pr.cancel = context.WithCancel(ctx)
	pr.stdout, pr.stderr = newOutput(pr, p.Stdout), newOutput(pr, p.Stderr)
	pr.io = ProcessIO{ShardID: shardID, Args: p.Args, Env: p.Env, Stdout: pr.stdout, Stderr: pr.stderr, Stdin: bytes.NewReader(nil)}
	if p.Stdin != nil {
		r, w := io.Pipe()
		// Not waited for: a reader that blocks outlives its process.
		go func() {
			_, err := io.Copy(w, p.Stdin)
			if err != nil && !errors.Is(err, errKilled) {
				pr.fail(err)
			}
			w.CloseWithError(err)
		}()
		context.AfterFunc(pr.ctx, func() { _ = r.CloseWithError(errKilled) })
		pr.io.Stdin = r
	}
	return pr
}

// run gives the program's status, or 137 when it was killed. Nothing is written after it.
func (p *process) run(program Program) int {
	defer p.cancel()
	code := program(p.ctx, p.io)
	dead := p.ctx.Err() != nil
	p.stdout.close()
	p.stderr.close()
	if dead {
		return killed
	}
	return code
}

// fail kills the process because of its caller's reader or writer.
func (p *process) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil && p.ctx.Err() == nil {
		p.err = err
	}
	p.cancel()
}

func (p *process) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// output is a process's stdout or stderr: closed to it once the process has ended, so that a
// goroutine which the program left behind can't write any more.
type output struct {
	p *process
	w io.Writer

	mu     sync.Mutex
	closed bool
}

func newOutput(p *process, w io.Writer) *output {
	if w == nil {
		w = io.Discard
	}
	return &output{p: p, w: w}
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.p.ctx.Err() != nil {
		return 0, errKilled
	}
	n, err := o.w.Write(b)
	if err != nil {
		o.p.fail(err)
	}
	return n, err
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}
