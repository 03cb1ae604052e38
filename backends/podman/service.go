package podman

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// service is a `podman system service` that is our own child. A nil one is none.
type service struct {
	socket string
	dir    string
	cmd    *exec.Cmd
	// alive is our end of a pipe; when it closes, by stop or by our death, the service ends.
	alive  *os.File
	stderr *tail
	// ended is closed when the child has been waited for; err says how it went.
	ended chan struct{}
	err   error
	once  sync.Once
}

// stop ends the service and waits for it. It may be called more than once.
func (s *service) stop() error {
	if s == nil {
		return nil
	}
	var err error
	s.once.Do(func() {
		_ = s.alive.Close()
		<-s.ended
		err = os.RemoveAll(s.dir)
	})
	return err
}

// failure is what the service said before it ended by itself.
func (s *service) failure() string {
	if text := inOneLine(s.stderr.String()); text != "" {
		return text
	}
	if s.err != nil {
		return s.err.Error()
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
