package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/session/client/process"
)

// service is one entry of a session: what it is, what must be ready before it, and when it is ready.
// Without a program it's a step that the session itself takes.
type service struct {
	name  string
	needs []string
	program
	ready probe
	// conn, if any, is a connection by whose end the service is lost though its program still runs.
	conn func(*Session) *dbus.Conn
}

// probe waits until a service is ready. stdout is its program's, nil without one. It ends with ctx, at
// the latest when the program does.
type probe func(ctx context.Context, s *Session, stdout io.Reader) error

// program is how a service's program is started.
type program struct {
	paths   []string // the first that's there is taken; none: nothing to start
	pkg     string   // the Debian package that has it
	args    func(*Session) []string
	env     func(*Session) []string // on top of Config.services
	prepare func(*Session) error    // before the start
}

// part is a service of one session.
type part struct {
	service
	path  string
	came  chan struct{} // closed when it's ready
	proc  *process.Process
	times Step
}

func newPart(sv service) (*part, error) {
	p := &part{service: sv, came: make(chan struct{}), times: Step{Name: sv.name}}
	if len(sv.paths) == 0 {
		return p, nil
	}
	for _, path := range sv.paths {
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			p.path = path
			return p, nil
		}
	}
	return nil, p.failed(ErrNotInstalled, fmt.Sprintf("%s is in the package %s", sv.paths[0], sv.pkg))
}

// bring starts the part once its needs are ready, and waits until it's ready itself.
func (p *part) bring(ctx context.Context, s *Session) error {
	for _, need := range p.needs {
		select {
		case <-s.parts[need].came:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	p.times.Start = time.Since(s.started)
	if err := p.start(s); err != nil {
		return p.failed(err, "")
	}
	if err := p.await(ctx, s); err != nil {
		return err
	}
	p.times.Ready = time.Since(s.started)
	close(p.came)
	return nil
}

func (p *part) start(s *Session) error {
	if p.prepare != nil {
		if err := p.prepare(s); err != nil {
			return err
		}
	}
	if p.path == "" {
		return nil
	}
	spec := process.Spec{Path: p.path, Dir: "/", Env: s.cfg.services()}
	if p.args != nil {
		spec.Args = p.args(s)
	}
	if p.env != nil {
		spec.Env = append(spec.Env, p.env(s)...)
	}
	proc, err := process.Start(spec)
	if err != nil {
		return err
	}
	s.mu.Lock()
	p.proc = proc
	s.mu.Unlock()
	return nil
}

// await runs the probe for as long as the program lives.
func (p *part) await(ctx context.Context, s *Session) error {
	if p.proc == nil {
		return p.judge(p.ready(ctx, s, nil))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.proc.Done():
			cancel(ErrEnded)
		case <-ctx.Done():
		}
	}()
	err := p.ready(ctx, s, p.proc.Stdout)
	go io.Copy(io.Discard, p.proc.Stdout) //nolint:errcheck // until the program ends
	if err != nil && errors.Is(context.Cause(ctx), ErrEnded) {
		return p.ended()
	}
	return p.judge(err)
}

func (p *part) judge(err error) error {
	if err == nil {
		return nil
	}
	return p.failed(err, "")
}

func (p *part) failed(err error, detail string) *ServiceError {
	e := &ServiceError{Service: p.name, Err: err, Detail: detail}
	if len(p.paths) > 0 {
		e.Program = base(p.paths[0])
	}
	if p.proc != nil {
		e.Last = lastLines(p.proc.Stderr(), keptLines)
	}
	return e
}

// ended is the error of a program that has ended. End comes first: it reads the program's last words.
func (p *part) ended() *ServiceError {
	_ = p.proc.End(context.Background()) // what it finds is told by the session's own end
	return p.failed(ErrEnded, p.proc.Exit())
}
