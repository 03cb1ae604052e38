package jsonpos

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// maxDepth of nested values; eval files have six levels, schemas in tool metadata some more.
const maxDepth = 200

// Parse reads the whole of data as one JSON value; name stands for the file in places. It's plain
// JSON, in UTF-8: no comments, no trailing commas, no key twice in an object. Its error is an *Error.
func Parse(name string, data []byte) (*Document, error) {
	d := newDocument(name, data)
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return nil, d.errorf(0, "starts with a byte order mark; save it as UTF-8 without one")
	}
	if i := invalidUTF8(data); i >= 0 {
		return nil, d.errorf(i, "isn't UTF-8 from here; save it as UTF-8")
	}
	s := &scanner{doc: d, dec: json.NewDecoder(bytes.NewReader(data))}
	s.dec.UseNumber()
	var err error
	if d.Root, err = s.value(0, 0); err != nil {
		return nil, err
	}
	if _, err := s.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, d.errorf(s.next(d.Root.End, 0), "text after the end of the JSON value; remove it")
	}
	return d, nil
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
	doc *Document
	dec *json.Decoder
}

// next is the offset of the first byte from i on that belongs to a token; before may stand the one
// separator sep, or nothing when that is 0.
func (s *scanner) next(i int, sep byte) int {
	data := s.doc.data
	for ; i < len(data) && (data[i] == sep || bytes.IndexByte([]byte(" \t\r\n"), data[i]) >= 0); i++ {
		if data[i] == sep {
			sep = 0
		}
	}
	return min(i, s.doc.last())
}

// token is the next token with its place, which sep separates from the one before.
func (s *scanner) token(sep byte) (json.Token, int, error) {
	start := s.next(int(s.dec.InputOffset()), sep)
	t, err := s.dec.Token()
	if err == nil {
		return t, start, nil
	}
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, 0, s.doc.errorf(s.doc.last(), "the JSON ends too early; a bracket or a quote isn't closed")
	case errors.As(err, &syntax):
		// The decoder counts from 1, and from the token on when it is one level up, so an offset
		// before start can't be meant.
		return nil, 0, s.doc.errorf(min(max(int(syntax.Offset)-1, start), s.doc.last()), "isn't JSON: %v", err)
	default:
		return nil, 0, s.doc.errorf(start, "isn't JSON: %v", err)
	}
}

func (s *scanner) value(depth int, sep byte) (*Node, error) {
	t, start, err := s.token(sep)
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, s.doc.errorf(start, "is nested deeper than %d levels", maxDepth)
	}
	n := &Node{Start: start}
	switch v := t.(type) {
	case json.Delim:
		if v == '{' {
			n.Kind = Object
			err = s.object(n, depth)
		} else {
			n.Kind = Array
			err = s.array(n, depth)
		}
	case string:
		n.Kind, n.Text = String, v
	case json.Number:
		n.Kind, n.Number = Number, v
	case bool:
		n.Kind, n.Truth = Bool, v
	default:
		n.Kind = Null
	}
	n.End = int(s.dec.InputOffset())
	return n, err
}

func (s *scanner) object(n *Node, depth int) error {
	seen := map[string]bool{}
	sep := byte(0)
	for s.dec.More() {
		t, start, err := s.token(sep)
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return s.doc.errorf(start, "isn't JSON: a key must be a string")
		}
		if seen[key] {
			return s.doc.errorf(start, "%q is given twice in one object; keep one", key)
		}
		seen[key] = true
		v, err := s.value(depth+1, ':')
		if err != nil {
			return err
		}
		sep = ','
		n.Members = append(n.Members, Member{Key: key, Start: start, Value: v})
	}
	_, _, err := s.token(0)
	return err
}

func (s *scanner) array(n *Node, depth int) error {
	sep := byte(0)
	for s.dec.More() {
		v, err := s.value(depth+1, sep)
		if err != nil {
			return err
		}
		sep = ','
		n.Items = append(n.Items, v)
	}
	_, _, err := s.token(0)
	return err
}
