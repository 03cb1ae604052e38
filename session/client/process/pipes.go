package process

import (
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

// tail keeps the last bytes that were written to it.
type tail struct {
	mu    sync.Mutex
	limit int
	b     []byte
}

// Write lets twice the limit come together before it moves anything.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if len(t.b) > 2*t.limit {
		t.b = append(t.b[:0], t.last()...)
	}
	return len(p), nil
}

func (t *tail) last() []byte { return t.b[max(0, len(t.b)-t.limit):] }

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last())
}
