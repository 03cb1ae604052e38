package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// source is a script's text with the place of every value, by path ("rules[2].match.regex").
type source struct {
	name string
	data []byte
	at   map[string]int64
}

// errorAt makes an error that begins with file:line.
func (src *source) errorAt(offset int64, format string, args ...any) error {
	offset = min(max(offset, 0), int64(len(src.data)))
	line := 1 + bytes.Count(src.data[:offset], []byte("\n"))
	return fmt.Errorf("%w: %s:%d: %s", ErrScript, src.name, line, fmt.Sprintf(format, args...))
}

func (src *source) errorIn(path, format string, args ...any) error {
	return src.errorAt(src.at[path], path+": "+format, args...)
}

// scan walks the JSON in step with the type of v: what encoding/json would drop in silence, an
// unknown or a repeated key or something after the end, is an error with its place.
func scan(name string, data []byte, v any) (*source, error) {
	s := &scanner{
		source: source{name: name, data: data, at: map[string]int64{}},
		dec:    json.NewDecoder(bytes.NewReader(data)),
	}
	if err := s.value("", reflect.TypeOf(v).Elem()); err != nil {
		return nil, err
	}
	if _, err := s.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, s.errorAt(s.dec.InputOffset(), "something follows the script's closing brace")
	}
	return &s.source, nil
}

type scanner struct {
	source
	dec *json.Decoder
}

func (s *scanner) token() (json.Token, error) {
	t, err := s.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, s.errorAt(syntax.Offset, "not JSON: %v", syntax)
	case err != nil:
		return nil, s.errorAt(int64(len(s.data)), "not JSON: it ends too early")
	}
	return t, nil
}

// value walks one value that is to become a t; t is nil where anything may stand.
func (s *scanner) value(path string, t reflect.Type) error {
	tok, err := s.token()
	if err != nil {
		return err
	}
	s.at[path] = s.dec.InputOffset() - 1
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch tok {
	case json.Delim('{'):
		return s.object(path, t)
	case json.Delim('['):
		return s.array(path, t)
	}
	return nil
}

func (s *scanner) array(path string, t reflect.Type) error {
	var elem reflect.Type
	if t != nil && t.Kind() == reflect.Slice {
		elem = t.Elem()
	}
	for i := 0; s.dec.More(); i++ {
		if err := s.value(fmt.Sprintf("%s[%d]", path, i), elem); err != nil {
			return err
		}
	}
	_, err := s.token()
	return err
}

func (s *scanner) object(path string, t reflect.Type) error {
	var fields map[string]reflect.Type
	if t != nil && t.Kind() == reflect.Struct {
		fields = jsonFields(t)
	}
	seen := map[string]bool{}
	for s.dec.More() {
		tok, err := s.token()
		if err != nil {
			return err
		}
		key, at := tok.(string), s.dec.InputOffset()
		if seen[key] {
			return s.errorAt(at, "%q is there twice", key)
		}
		seen[key] = true
		if _, ok := fields[key]; fields != nil && !ok {
			return s.errorAt(at, "unknown key %q%s", key, suggestion(path, fields))
		}
		if err := s.value(join(path, key), fields[key]); err != nil {
			return err
		}
	}
	_, err := s.token()
	return err
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// jsonFields gives the keys that a struct takes, with their types.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	m := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		m[name] = f.Type
	}
	return m
}
