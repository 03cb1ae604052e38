package gateway

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/berth-run/berth/internal/jsonpos"
)

// source is a script's text with the place of every value, by path ("rules[2].match.regex").
type source struct {
	*jsonpos.Document
	at map[string]int
}

// errorAt makes an error that begins with file:line:column.
func (src *source) errorAt(offset int, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrScript, src.Place(offset), fmt.Sprintf(format, args...))
}

func (src *source) errorIn(path, format string, args ...any) error {
	return src.errorAt(src.at[path], path+": "+format, args...)
}

// scan walks the JSON in step with the type of v: a key that it doesn't take, which encoding/json
// would drop in silence, is an error with its place.
func scan(name string, data []byte, v any) (*source, error) {
	doc, err := jsonpos.Parse(name, data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrScript, err)
	}
	src := &source{doc, map[string]int{}}
	return src, src.value("", doc.Root, reflect.TypeOf(v).Elem())
}

// value walks one value that is to become a t; t is nil where anything may stand.
func (src *source) value(path string, n *jsonpos.Node, t reflect.Type) error {
	src.at[path] = n.Start
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if err := src.members(path, n, t); err != nil {
		return err
	}
	var elem reflect.Type
	if t != nil && t.Kind() == reflect.Slice {
		elem = t.Elem()
	}
	for i, item := range n.Items {
		if err := src.value(fmt.Sprintf("%s[%d]", path, i), item, elem); err != nil {
			return err
		}
	}
	return nil
}

func (src *source) members(path string, n *jsonpos.Node, t reflect.Type) error {
	var fields map[string]reflect.Type
	if t != nil && t.Kind() == reflect.Struct {
		fields = jsonFields(t)
	}
	for _, m := range n.Members {
		if _, ok := fields[m.Key]; fields != nil && !ok {
			return src.errorAt(m.Start, "unknown key %q%s", m.Key, suggestion(path, fields))
		}
		if err := src.value(join(path, m.Key), m.Value, fields[m.Key]); err != nil {
			return err
		}
	}
	return nil
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
