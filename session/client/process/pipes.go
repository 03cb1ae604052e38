package process

import (
	"bytes"
	"os"
	"sync"
)

// pipes are stdin, stdout and stderr. They're plain files on both sides, so that waiting for a program
// doesn't wait for the children that hold its stdout.
type pipes struct{ ours, theirs [3]*os.File }

func newPipes() (*pipes, error) {
	p := &pipes{}
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			p.closeTheirs()
			p.closeOurs()
			return nil, err
		}
		p.ours[i], p.theirs[i] = r, w
		if i == 0 {
			p.ours[i], p.theirs[i] = w, r
		}
	}
	return p, nil
}

func (p *pipes) closeTheirs() { closeAll(p.theirs[:]) }
func (p *pipes) closeOurs()   { closeAll(p.ours[:]) }

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// tail keeps the last bytes that were written to it, in whole lines: of a secret that was cut in two
// nobody could tell that it is one.
type tail struct {
	mu    sync.Mutex
	limit int
	b     []byte
	cut   bool // something isn't in b any more
}

// Write lets twice the limit come together before it moves anything.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if len(t.b) > 2*t.limit {
		t.b, t.cut = append(t.b[:0], t.last()...), true
	}
	return len(p), nil
}

func (t *tail) last() []byte { return t.b[max(0, len(t.b)-t.limit):] }

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.last()
	if t.cut || len(last) < len(t.b) {
		_, last, _ = bytes.Cut(last, []byte("\n"))
	}
	return string(last)
}
