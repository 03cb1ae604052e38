package podman

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	"github.com/containers/podman/v5/pkg/bindings"

	"github.com/berth-run/berth/backends"
)

// minVersion is the oldest Podman whose API does all that berth needs.
var minVersion = semver.MustParse("4.3.0")

// finder looks for an engine. Its fields stand for the host, so that tests can play another.
type finder struct {
	goos   string
	getenv func(string) string
	// machines asks the podman command for the ways to its machine.
	machines func(ctx context.Context) ([]candidate, error)
	// start runs a service of our own.
	start func(ctx context.Context) (*service, error)
}

func hostFinder() finder {
	return finder{goos: goos, getenv: os.Getenv, machines: machines, start: startService}
}

// candidate is one place where an engine may listen.
type candidate struct {
	source   string // for people, as is the advice
	advice   string
	url      string
	identity string
	machine  bool
}

// found is an engine that answered.
type found struct {
	client  *client
	service *service
	remote  bool
}

func (f finder) find(ctx context.Context, o Options) (found, error) {
	if c, ok := f.chosen(o); ok {
		e, err := c.connect(ctx, o.DialTimeout)
		if err != nil {
			err = unavailable(fmt.Errorf("%s %s: %w", c.source, redact(c.url), err))
			return found{}, fmt.Errorf("%w%s", err, c.advice)
		}
		return e, nil
	}
	var tried []string
	for _, c := range f.candidates(ctx, &tried) {
		e, err := c.connect(ctx, o.DialTimeout)
		if err == nil {
			return e, nil
		}
		if errors.Is(err, backends.ErrUnsupported) {
			return found{}, fmt.Errorf("%s: %w", c.source, err)
		}
		tried = append(tried, fmt.Sprintf("%s: %v", c.source, err))
	}
	if f.goos != "linux" {
		return found{}, fmt.Errorf("%w: no Podman answers: start one with `podman machine start` (tried %s)",
			backends.ErrUnavailable, strings.Join(tried, "; "))
	}
	return f.own(ctx, o, tried)
}

// chosen is the engine that the user named.
func (f finder) chosen(o Options) (candidate, bool) {
	if o.URL != "" {
		return candidate{source: "Podman at", url: o.URL, identity: o.Identity}, true
	}
	if host := f.getenv("CONTAINER_HOST"); host != "" {
		return candidate{
			source: "Podman at CONTAINER_HOST", url: host, identity: f.getenv("CONTAINER_SSHKEY"),
			advice: ": correct CONTAINER_HOST, or unset it and berth finds a Podman of this machine",
		}, true
	}
	return candidate{}, false
}

// candidates are the places to look at without being told.
func (f finder) candidates(ctx context.Context, tried *[]string) []candidate {
	var cs []candidate
	if dir := f.getenv("XDG_RUNTIME_DIR"); dir != "" {
		sock := filepath.Join(dir, "podman", "podman.sock")
		cs = append(cs, candidate{source: sock, url: unixURL(sock)})
	}
	if f.goos == "darwin" {
		ms, err := f.machines(ctx)
		if err != nil {
			*tried = append(*tried, err.Error())
		}
		cs = append(cs, ms...)
	}
	return cs
}

// own starts a service and connects to it.
func (f finder) own(ctx context.Context, o Options, tried []string) (found, error) {
	s, err := f.start(ctx)
	if err == nil {
		var e found
		c := candidate{source: "podman system service", url: unixURL(s.socket)}
		if e, err = c.connect(ctx, o.DialTimeout); err == nil {
			e.service = s
			return e, nil
		}
		err = errors.Join(err, s.stop())
	}
	err = unavailable(err)
	if len(tried) > 0 {
		err = fmt.Errorf("%w (tried before: %s)", err, strings.Join(tried, "; "))
	}
	return found{}, err
}

// connect dials and asks for the version, within timeout.
func (c candidate) connect(ctx context.Context, timeout time.Duration) (found, error) {
	if err := c.check(); err != nil {
		return found{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	type result struct {
		ctx context.Context
		err error
	}
	done := make(chan result, 1)
	go func() { // the ssh dial takes no context
		connected, err := bindings.NewConnectionWithOptions(context.WithoutCancel(ctx),
			bindings.Options{URI: c.url, Identity: c.identity, Machine: c.machine})
		done <- result{connected, err}
	}()
	select {
	case <-ctx.Done():
		return found{}, context.Cause(ctx)
	case r := <-done:
		if r.err != nil {
			return found{}, tooOld(r.err)
		}
		return c.accept(r.ctx)
	}
}

func (c candidate) accept(ctx context.Context) (found, error) {
	conn, err := bindings.GetClient(ctx)
	if err != nil {
		return found{}, err
	}
	v := *bindings.ServiceVersion(ctx)
	if v.LT(minVersion) {
		return found{}, fmt.Errorf("%w: it is Podman %s: upgrade it, berth needs %s or later", backends.ErrUnsupported, v, minVersion)
	}
	return found{client: newClient(conn, v), remote: c.machine || conn.URI.Scheme == "ssh"}, nil
}

// check catches early what would only fail at the first dial, three times over.
func (c candidate) check() error {
	u, err := url.Parse(c.url)
	if err != nil {
		return fmt.Errorf("not a URL: %w", errors.Unwrap(err))
	}
	switch u.Scheme {
	case "unix":
		if _, err := os.Stat(u.Path); err != nil {
			return errors.Unwrap(err)
		}
	case "ssh", "tcp":
	default:
		return fmt.Errorf("scheme %q is none of unix, ssh, tcp", u.Scheme)
	}
	return nil
}

// unixURL escapes what a URL would cut a path at.
func unixURL(socket string) string { return (&url.URL{Scheme: "unix", Path: socket}).String() }

// tooOld names the case where the bindings refuse the server's version.
func tooOld(err error) error {
	if strings.Contains(err.Error(), "server API version is too old") {
		return fmt.Errorf("%w: %w: upgrade it, berth needs Podman %s or later", backends.ErrUnsupported, err, minVersion)
	}
	return err
}

// unavailable makes err one of the closed set.
func unavailable(err error) error {
	err = explain(err)
	if errors.Is(err, backends.ErrUnavailable) || errors.Is(err, backends.ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%w: %w", backends.ErrUnavailable, err)
}

// redact takes a password out of a URL.
func redact(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "(not a URL)"
	}
	return u.Redacted()
}
