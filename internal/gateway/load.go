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

// Load reads a script. Errors have file, line and column, and ErrScript in their chain.
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

// typeError places an error of encoding/json, which has read into the value that it can't take.
func (src *source) typeError(err error) error {
	t, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return src.errorAt(0, "%v", err)
	}
	start := 0
	for _, at := range src.at {
		if at < int(t.Offset) {
			start = max(start, at)
		}
	}
	return src.errorAt(start, "%s must be %s, not %s", t.Field, kindName(t.Type), t.Value)
}
