package evalconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"unicode/utf8"
)

// kind of a JSON value.
type kind string

const (
	kindObject kind = "an object"
	kindArray  kind = "a list"
	kindString kind = "a string"
	kindNumber kind = "a number"
	kindBool   kind = "true or false"
	kindNull   kind = "null"
)

// maxDepth of nested values; eval files have six levels, schemas in tool metadata some more.
const maxDepth = 200

// node is a JSON value that knows where it stands.
type node struct {
	kind    kind
	start   int // byte offset
	end     int
	text    string // of a string
	number  json.Number
	truth   bool
	members []member
	items   []*node
}

// member of an object, in file order.
type member struct {
	key   string
	start int
	value *node
}

func (n *node) get(key string) *node {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// file is one source with its line starts.
type file struct {
	name  string
	data  []byte
	lines []int
}

func newFile(name string, data []byte) *file {
	f := &file{name: name, data: data, lines: []int{0}}
	for i, b := range data {
		if b == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	return f
}

func (f *file) place(offset int) Place {
	line := sort.SearchInts(f.lines, offset+1)
	return Place{File: f.name, Line: line, Col: offset - f.lines[line-1] + 1}
}

func (f *file) problem(offset int, format string, args ...any) *Problem {
	return &Problem{Place: f.place(offset), Kind: ErrInvalid, Msg: fmt.Sprintf(format, args...)}
}

// raw is n as it stands in the file, without white space.
func (f *file) raw(n *node) json.RawMessage {
	var b bytes.Buffer
	if n == nil || json.Compact(&b, f.data[n.start:n.end]) != nil {
		return nil
	}
	return b.Bytes()
}

// parse reads the whole file as one JSON value. It's plain JSON, as MST's: no comments, no trailing
// commas.
func (f *file) parse() (*node, *Problem) {
	if bytes.HasPrefix(f.data, []byte("\xef\xbb\xbf")) {
		return nil, f.problem(0, "starts with a byte order mark; save it as UTF-8 without one")
	}
	if i := invalidUTF8(f.data); i >= 0 {
		return nil, f.problem(i, "isn't UTF-8 from here; save it as UTF-8")
	}
	s := &scanner{file: f, dec: json.NewDecoder(bytes.NewReader(f.data))}
	s.dec.UseNumber()
	n, p := s.value(0)
	if p != nil {
		return nil, p
	}
	if _, err := s.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, f.problem(s.next(n.end), "text after the end of the JSON value; remove it")
	}
	return n, nil
}

func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// scanner builds nodes from encoding/json's tokens, which brings the strictness of that package.
type scanner struct {
	file *file
	dec  *json.Decoder
}

// next is the offset of the first byte from i on that belongs to a token.
func (s *scanner) next(i int) int {
	for i < len(s.file.data) && bytes.IndexByte([]byte(" \t\r\n,:"), s.file.data[i]) >= 0 {
		i++
	}
	return min(i, max(len(s.file.data)-1, 0))
}

func (s *scanner) token() (json.Token, int, *Problem) {
	start := s.next(int(s.dec.InputOffset()))
	t, err := s.dec.Token()
	if err == nil {
		return t, start, nil
	}
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, 0, s.file.problem(max(len(s.file.data)-1, 0), "the JSON ends too early; a bracket or a quote isn't closed")
	case errors.As(err, &syntax):
		return nil, 0, s.file.problem(syntaxOffset(syntax, start, len(s.file.data)), "isn't JSON: %v", err)
	default:
		return nil, 0, s.file.problem(start, "isn't JSON: %v", err)
	}
}

// syntaxOffset is where the bad byte is. The decoder counts from 1, and from the token on when it
// is one level up, so an offset before start can't be meant.
func syntaxOffset(e *json.SyntaxError, start, size int) int {
	return min(max(int(e.Offset)-1, start), max(size-1, 0))
}

func (s *scanner) value(depth int) (*node, *Problem) {
	t, start, p := s.token()
	if p != nil {
		return nil, p
	}
	if depth > maxDepth {
		return nil, s.file.problem(start, "is nested deeper than %d levels", maxDepth)
	}
	n := &node{start: start}
	switch v := t.(type) {
	case json.Delim:
		if v == '{' {
			n.kind = kindObject
			p = s.object(n, depth)
		} else {
			n.kind = kindArray
			p = s.array(n, depth)
		}
	case string:
		n.kind, n.text = kindString, v
	case json.Number:
		n.kind, n.number = kindNumber, v
	case bool:
		n.kind, n.truth = kindBool, v
	default:
		n.kind = kindNull
	}
	n.end = int(s.dec.InputOffset())
	return n, p
}

func (s *scanner) object(n *node, depth int) *Problem {
	seen := map[string]bool{}
	for s.dec.More() {
		t, start, p := s.token()
		if p != nil {
			return p
		}
		key, ok := t.(string)
		if !ok {
			return s.file.problem(start, "isn't JSON: a key must be a string")
		}
		if seen[key] {
			return s.file.problem(start, "%q is given twice in one object; keep one", key)
		}
		seen[key] = true
		v, p := s.value(depth + 1)
		if p != nil {
			return p
		}
		n.members = append(n.members, member{key: key, start: start, value: v})
	}
	_, _, p := s.token()
	return p
}

func (s *scanner) array(n *node, depth int) *Problem {
	for s.dec.More() {
		v, p := s.value(depth + 1)
		if p != nil {
			return p
		}
		n.items = append(n.items, v)
	}
	_, _, p := s.token()
	return p
}
