package parity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Fields names all that can be taken out of a spec: objects, lists, their elements and values, but for a
// value that says no more than none would.
func Fields(spec *specs.Spec) ([]string, error) {
	whole, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	nodes, _, err := removals(whole)
	if err != nil {
		return nil, err
	}
	var fields []string
	for _, field := range slices.Sorted(maps.Keys(nodes)) {
		without, err := Without(spec, field)
		if err != nil {
			return nil, err
		}
		if config, err := json.Marshal(without); err != nil || !bytes.Equal(config, whole) {
			fields = append(fields, field)
		}
	}
	return fields, nil
}

// Without is a copy of spec that lacks one of its Fields.
func Without(spec *specs.Spec, field string) (*specs.Spec, error) {
	whole, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	nodes, doc, err := removals(whole)
	if err != nil {
		return nil, err
	}
	remove, ok := nodes[field]
	if !ok {
		return nil, fmt.Errorf("the spec has no %s", field)
	}
	remove()
	config, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	without := new(specs.Spec)
	return without, json.Unmarshal(config, without)
}

func removals(config []byte) (map[string]func(), map[string]any, error) {
	doc, err := decode(config)
	if err != nil {
		return nil, nil, err
	}
	nodes := map[string]func(){}
	walk(doc, func(n node) { nodes[n.field] = n.remove })
	return nodes, doc, nil
}
