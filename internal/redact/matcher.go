package redact

import "bytes"

// matcher is the forms to look for, the longest first.
type matcher []string

// span is a half-open range of bytes.
type span struct{ start, end int }

// find gives where forms are: from left to right, without overlap, the longest first.
func (m matcher) find(b []byte) []span {
	var found []span
	next := make([]int, len(m)) // where each form is from pos on: -1 nowhere
	for pos := 0; pos < len(b); {
		best := span{start: len(b)}
		for i, form := range m {
			if next[i] < pos && next[i] >= 0 || pos == 0 {
				next[i] = index(b, form, pos)
			}
			if at := next[i]; at >= 0 && at < best.start {
				best = span{at, at + len(form)}
			}
		}
		if best.end == 0 {
			break
		}
		found = append(found, best)
		pos = best.end
	}
	return found
}

func index(b []byte, form string, from int) int {
	if i := bytes.Index(b[from:], []byte(form)); i >= 0 {
		return from + i
	}
	return -1
}

// mask replaces spans; without any, it gives b itself.
func mask(b []byte, spans []span) []byte {
	if len(spans) == 0 {
		return b
	}
	var out []byte
	pos := 0
	for _, s := range spans {
		out = append(append(out, b[pos:s.start]...), Mask...)
		pos = s.end
	}
	return append(out, b[pos:]...)
}

// undecided is where the end of b begins that may yet become a form, or len(b). A place inside a
// form that's complete isn't one.
func (m matcher) undecided(b []byte, found []span) int {
	if len(m) == 0 {
		return len(b)
	}
	for i := max(0, len(b)-len(m[0])+1); i < len(b); i++ {
		if !inside(i, found) && m.begins(b[i:]) {
			return i
		}
	}
	return len(b)
}

func inside(i int, spans []span) bool {
	for _, s := range spans {
		if s.start < i && i < s.end {
			return true
		}
	}
	return false
}

// begins tells whether a form is longer than end and begins with it.
func (m matcher) begins(end []byte) bool {
	for _, form := range m {
		if len(end) < len(form) && form[:len(end)] == string(end) { // doesn't copy
			return true
		}
	}
	return false
}
