package podman

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/blang/semver/v4"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/execkill"
	"github.com/berth-run/berth/oci"
)

const (
	// killTimeout bounds the exec that kills a cancelled one.
	killTimeout = 10 * time.Second
	// forgetTimeout bounds the deletion of a session.
	forgetTimeout = 10 * time.Second
	// exitPoll is how often the exit status is asked for when the stream has ended before it's known.
	exitPoll = 10 * time.Millisecond
)

// forgets is the first Podman that deletes an exec's session when asked to.
var forgets = semver.MustParse("4.8.0")

// detachKeys is a sequence that ends Podman's copying of stdin. It can't be turned off, only made
// longer: the default, ctrl-p ctrl-q, is two bytes that any binary stream may hold.
var detachKeys = strings.Join(slices.Repeat([]string{"ctrl-^", "ctrl-_"}, 16), ",")

// execCreate is the body of POST /containers/{id}/exec.
type execCreate struct {
	AttachStdin  bool     `json:"AttachStdin"`
	AttachStdout bool     `json:"AttachStdout"`
	AttachStderr bool     `json:"AttachStderr"`
	Cmd          []string `json:"Cmd"`
	Env          []string `json:"Env"`
	DetachKeys   string   `json:"DetachKeys"`
}

// Exec implements backends.Shard.
func (s *shard) Exec(ctx context.Context, p backends.Process) (backends.ExitStatus, error) {
	if err := p.Validate(); err != nil {
		return backends.ExitStatus{}, err
	}
	if ctx.Err() != nil {
		return backends.ExitStatus{}, context.Cause(ctx)
	}
	id := rand.Text()
	p.Env = append(slices.Clone(p.Env), execkill.EnvVar+"="+id)
	e, err := s.newExec(ctx, p)
	if err != nil {
		return backends.ExitStatus{}, err
	}
	defer e.forget(ctx)
	code, err := e.run(ctx, p, func(cause error) error { return s.killExec(ctx, id, cause) })
	return backends.ExitStatus{Code: code}, err
}

func (s *shard) newExec(ctx context.Context, p backends.Process) (*execSession, error) {
	var made struct {
		ID string `json:"Id"`
	}
	body := execCreate{
		AttachStdin: p.Stdin != nil, AttachStdout: true, AttachStderr: true,
		Cmd: p.Args, Env: p.Env, DetachKeys: detachKeys,
	}
	create := func() error { return s.backend.api.post(ctx, route("/containers/%s/exec", s.id), nil, body, &made) }
	err := create()
	if hungUp(err) { // one that was made all the same is never started, and goes with the shard
		err = create()
	}
	if err != nil {
		return nil, s.wrap(err)
	}
	return &execSession{shard: s, id: made.ID}, nil
}

// killExec ends what runs under an exec's mark, by an exec without one. The caller's ctx has ended,
// so this has a time of its own.
func (s *shard) killExec(ctx context.Context, id string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	var said strings.Builder
	p := backends.Process{Args: []string{oci.WorkerPath, "kill", id}, Stderr: &said}
	e, err := s.newExec(ctx, p)
	if errors.Is(err, backends.ErrState) || errors.Is(err, backends.ErrNotFound) {
		return cause // PID 1 has ended, and all with it
	}
	if err == nil {
		defer e.forget(ctx)
		var code int
		if code, err = e.run(ctx, p, func(cause error) error { return cause }); err == nil && code != 0 {
			err = fmt.Errorf("status %d: %s", code, strings.TrimSpace(said.String()))
		}
	}
	if err != nil {
		return fmt.Errorf("%w (and its processes may be left in shard %.12s: %w)", cause, s.id, err)
	}
	return cause
}

// execSession is one exec, as Podman knows it.
type execSession struct {
	shard *shard
	id    string
	// life is of the service that has the exec's streams.
	life int
}

// run starts the session, carries its stdio and gives its exit status. When ctx ends or an output
// can't be written, kill is called with the cause, and what it returns is returned.
func (e *execSession) run(ctx context.Context, p backends.Process, kill func(error) error) (int, error) {
	stream, err := e.attach(ctx)
	if ctx.Err() != nil && err != nil {
		return 0, e.ended(ctx, kill(context.Cause(ctx))) // it may have been started
	}
	if err != nil {
		return 0, e.shard.wrap(err)
	}
	defer stream.Close()
	sent := make(chan error, 1)
	if p.Stdin != nil {
		// Not waited for: a reader that blocks outlives its process.
		go func() {
			if err := stream.send(p.Stdin); err != nil {
				sent <- err
			}
		}()
	}
	copied := make(chan error, 1)
	go func() { copied <- demux(stream, p.Stdout, p.Stderr) }()
	select {
	case err = <-copied:
		var code int
		if err == nil {
			if code, err = e.status(ctx); err == nil && !e.orphaned() {
				return code, nil
			}
			if !e.orphaned() {
				return 0, err
			}
			err = errOrphaned
		}
		copied <- err
		err = fmt.Errorf("exec of %s: %w", p.Args[0], err)
	case err = <-sent:
		err = fmt.Errorf("exec of %s: %w", p.Args[0], err)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	err = kill(err)
	// This ends stdin too, and so a worker's own processes, whose mark can't be read. And Podman waits
	// with the end of a process for its output to be taken, or to be nobody's.
	stream.Close()
	<-copied
	return 0, e.ended(ctx, err)
}

// ended waits for the end of a process that was killed for cause, or for the end of killTimeout.
func (e *execSession) ended(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	e.life = e.shard.backend.service.life()
	if _, err := e.status(ctx); errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w (and its process still runs in shard %.12s)", cause, e.shard.id)
	}
	return cause // ended, or gone with its shard
}

// errOrphaned is an exec's whose service ended before it: nobody has its streams any more.
var errOrphaned = fmt.Errorf("%w: Podman ended and was started again", backends.ErrUnavailable)

// orphaned tells that the service that had the streams is gone, and another has taken its place.
func (e *execSession) orphaned() bool { return e.life != e.shard.backend.service.life() }

// attach starts the session and takes the connection over.
func (e *execSession) attach(ctx context.Context) (*execStream, error) {
	conn, err := e.shard.backend.api.dial(ctx)
	e.life = e.shard.backend.service.life()
	if err != nil {
		return nil, fmt.Errorf("podman: dialing for an exec: %w", err)
	}
	// Until the answer is here, the end of ctx ends the wait for it. An ssh connection has no deadlines.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	stream, err := e.upgrade(ctx, conn)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return stream, nil
}

func (e *execSession) upgrade(ctx context.Context, conn net.Conn) (*execStream, error) {
	p := route("/exec/%s/start", e.id)
	req, err := e.shard.backend.api.request(ctx, http.MethodPost, p, nil, map[string]bool{"Detach": false, "Tty": false})
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "tcp")
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	stream := newExecStream(conn)
	resp, err := http.ReadResponse(stream.buf, req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols && resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, readError(http.MethodPost, p, resp)
	}
	return stream, nil
}

// status asks for the exit status until there is one (podman#16036).
func (e *execSession) status(ctx context.Context) (int, error) {
	for {
		var r struct {
			Running  bool `json:"Running"`
			ExitCode int  `json:"ExitCode"`
		}
		if err := e.shard.backend.api.get(ctx, route("/exec/%s/json", e.id), nil, &r); err != nil {
			return 0, e.shard.wrap(err)
		}
		if !r.Running || e.orphaned() {
			return r.ExitCode, nil
		}
		if err := sleep(ctx, exitPoll); err != nil {
			return 0, err
		}
	}
}

// forget deletes the session. Podman does it by itself five minutes later, or with the container, and
// older ones only then, so a failure is no failure of the exec.
func (e *execSession) forget(ctx context.Context) {
	api := e.shard.backend.api
	if api.version.LT(forgets) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTimeout)
	defer cancel()
	_ = api.post(ctx, route("/exec/%s/remove", e.id), nil, map[string]bool{"Force": true}, nil)
}
