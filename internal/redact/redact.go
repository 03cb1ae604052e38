// Package redact takes known secrets out of text: the last line before an error, a progress line or
// a process's output is shown or stored. It's no detector: it knows the secrets that it was told,
// in the forms that programs give them (forms.go). Whoever makes an error string with foreign text
// in it redacts it there, so that there is no second place to forget.
package redact

import (
	"cmp"
	"slices"
	"sync"
)

// Mask stands where a secret was.
const Mask = "[redacted]"

// MinLen is the length from which a secret is taken out. A shorter one, such as the "test" that a
// dummy gateway takes, would blot out half of every text and protects nothing anyway.
const MinLen = 8

// Set is a set of secrets. The zero value is empty, a nil Set redacts nothing; all methods may be
// called at the same time.
type Set struct {
	mu    sync.Mutex
	forms matcher // replaced as a whole, never changed
}

// Add registers a secret for good: renewing a token doesn't make the old one public. It tells
// whether the secret is taken out from now on, which a short one isn't.
func (s *Set) Add(secret string) bool {
	if len(secret) < MinLen {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.forms, secret) {
		return true
	}
	forms := slices.Clone(s.forms)
	for _, f := range formsOf(secret) {
		forms = append(forms, f.text)
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	s.forms = slices.Compact(forms)
	return true
}

func (s *Set) matcher() matcher {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forms
}

// String is text with Mask for every form of every secret.
func (s *Set) String(text string) string {
	b := []byte(text)
	found := s.matcher().find(b)
	if len(found) == 0 {
		return text
	}
	return string(mask(b, found))
}

// Bytes is String for bytes. It never changes b, and gives b itself when there's nothing to take out.
func (s *Set) Bytes(b []byte) []byte { return mask(b, s.matcher().find(b)) }

// Error is err with a redacted text, and the same chain for errors.Is and errors.As. It's err itself
// when there's nothing to take out, and nil for nil.
func (s *Set) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := s.String(text); clean != text {
		return &redacted{text: clean, err: err}
	}
	return err
}

type redacted struct {
	text string
	err  error
}

func (r *redacted) Error() string { return r.text }
func (r *redacted) Unwrap() error { return r.err }
