package gateway

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

//go:embed default.json
var defaultScript []byte

// Default is the embedded script: it answers every prompt with its own words, for any model.
func Default() Script {
	s, err := Parse("default.json", defaultScript)
	if err != nil {
		panic(err) // it's compiled in, and a test reads it
	}
	return s
}

// Load reads a script. Errors have the file and the line, and ErrScript in their chain.
func Load(path string) (Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Script{}, fmt.Errorf("%w: %w", ErrScript, err)
	}
	return Parse(path, data)
}

// Parse reads a script from memory; name stands for the file in errors.
func Parse(name string, data []byte) (Script, error) {
	var s Script
	src, err := scan(name, data, &s)
	if err != nil {
		return Script{}, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return Script{}, src.typeError(err)
	}
	if err := s.check(src); err != nil {
		return Script{}, err
	}
	return s, nil
}

// typeError places an error of encoding/json.
func (src *source) typeError(err error) error {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return src.errorAt(t.Offset, "%s must be %s, not %s", t.Field, kindName(t.Type), t.Value)
	}
	return src.errorAt(0, "%v", err)
}
