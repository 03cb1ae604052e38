package podman

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/berth-run/berth/backends"
)

// service is a `podman system service` of our own. When it has ended by itself, what it is asked next
// starts it again, in the same place. A nil one is none.
type service struct {
	socket string
	dir    string
	env    []string

	mu      sync.Mutex
	child   *child
	lives   int // how often it was started
	stopped bool
}

// child is one life of a service, our own child process.
type child struct {
	cmd *exec.Cmd
	// alive is our end of a pipe; when it closes, by end or by our death, the service ends.
	alive  *os.File
	stderr *tail
	// ended is closed when the child has been waited for; err says how it went.
	ended chan struct{}
	err   error
}

// stop ends the service and waits for it. It may be called more than once.
func (s *service) stop() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	s.child.end()
	return os.RemoveAll(s.dir)
}

func (c *child) end() {
	_ = c.alive.Close()
	<-c.ended
}

// life is a number that is another after each start.
func (s *service) life() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lives
}

// revive starts the service again, when it doesn't listen any more. Whoever comes first does it for all.
func (s *service) revive(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return fmt.Errorf("%w: berth has ended its `podman system service`", backends.ErrUnavailable)
	}
	if c, err := net.Dial("unix", s.socket); err == nil {
		return c.Close()
	}
	s.child.end()
	if err := s.start(ctx); err != nil {
		return fmt.Errorf("%w: starting Podman again, which had ended: %w", backends.ErrUnavailable, err)
	}
	return nil
}

// start makes the service's folder and starts a child that listens there, or leaves neither.
func (s *service) start(ctx context.Context) error {
	if err := os.Mkdir(s.dir, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	c, err := s.spawn()
	if err != nil {
		return errors.Join(err, os.RemoveAll(s.dir))
	}
	s.child = c
	s.lives++
	if err := s.listening(ctx); err != nil {
		c.end()
		return errors.Join(err, os.RemoveAll(s.dir))
	}
	return nil
}

// failure is what the service said before it ended by itself.
func (c *child) failure() string {
	if text := inOneLine(c.stderr.String()); text != "" {
		return text
	}
	if c.err != nil {
		return c.err.Error()
	}
	return "ended without a word"
}

// inOneLine makes one line of what Podman printed before it ended: without its log's form, and without
// warnings if there is anything worse.
func inOneLine(printed string) string {
	var worse, mild []string
	for line := range strings.Lines(printed) {
		level, text := parseLog(strings.TrimSpace(line))
		switch {
		case text == "":
		case level == "warning" || level == "info" || level == "debug":
			mild = append(mild, text)
		default:
			worse = append(worse, text)
		}
	}
	if len(worse) == 0 {
		worse = mild
	}
	return strings.Join(worse, "; ")
}

// logLine is logrus's text form.
var logLine = regexp.MustCompile(`^time=\S+ level=(\w+) msg=("(?:[^"\\]|\\.)*"|\S*)`)

func parseLog(line string) (level, text string) {
	m := logLine.FindStringSubmatch(line)
	if m == nil {
		return "", strings.TrimPrefix(line, "Error: ")
	}
	if text, err := strconv.Unquote(m[2]); err == nil {
		return m[1], text
	}
	return m[1], m[2]
}

// tail keeps the last of what is written to it. It's safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	if over := t.buf.Len() - tailBytes; over > 0 {
		t.buf.Next(over)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
