package redact

import (
	"io"
	"sync"
)

// Writer passes on to w what is written, without the secrets, also one that comes in several
// writes: an end that may be the beginning of a secret is kept back until the next write or Close.
// Close doesn't close w. A Writer may be used by several goroutines.
func (s *Set) Writer(w io.Writer) io.WriteCloser { return &writer{set: s, w: w} }

type writer struct {
	mu   sync.Mutex
	set  *Set
	w    io.Writer
	kept []byte
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, p...)
	clean, rest := w.set.split(w.kept)
	w.kept = append([]byte(nil), rest...)
	if len(clean) == 0 {
		return len(p), nil
	}
	if _, err := w.w.Write(clean); err != nil {
		return 0, w.set.Error(err)
	}
	return len(p), nil
}

// Close writes what was kept back.
func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.kept) == 0 {
		return nil
	}
	_, err := w.w.Write(w.set.Bytes(w.kept))
	w.kept = nil
	return w.set.Error(err)
}

// split gives the part of b that's decided, redacted, and the end of b that isn't.
func (s *Set) split(b []byte) (clean, rest []byte) {
	m := s.matcher()
	found := m.find(b)
	at := m.undecided(b, found)
	for len(found) > 0 && found[len(found)-1].start >= at {
		found = found[:len(found)-1]
	}
	return mask(b[:at], found), b[at:]
}
