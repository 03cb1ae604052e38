package grade

import (
	"bytes"
	"encoding/json"
)

// contains tells whether actual has every member of want, objects and arrays compared member by
// member, so that more members in actual are allowed. A want of {"$pattern": "re", "$flags": "i"}
// matches a string.
func contains(actual, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		if p, ok := w["$pattern"].(string); ok {
			return matchesString(actual, p, w["$flags"])
		}
		a, ok := actual.(map[string]any)
		return ok && containsObject(a, w)
	case []any:
		a, ok := actual.([]any)
		return ok && containsArray(a, w)
	case json.Number:
		a, ok := actual.(json.Number)
		return ok && sameNumber(a, w)
	default:
		return actual == want
	}
}

func containsObject(actual, want map[string]any) bool {
	for k, w := range want {
		a, ok := actual[k]
		if !ok || !contains(a, w) {
			return false
		}
	}
	return true
}

func containsArray(actual, want []any) bool {
	if len(actual) < len(want) {
		return false
	}
	for i, w := range want {
		if !contains(actual[i], w) {
			return false
		}
	}
	return true
}

func matchesString(actual any, source string, flags any) bool {
	s, ok := actual.(string)
	if !ok {
		return false
	}
	f, _ := flags.(string)
	p, err := CompilePattern(source, f)
	if err != nil {
		return false
	}
	m, err := p.Match(s)
	return err == nil && m
}

// sameNumber compares as JSON numbers are compared everywhere: 1, 1.0 and 1e0 are one value.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, errA := a.Float64()
	y, errB := b.Float64()
	return errA == nil && errB == nil && x == y
}

// decode reads raw with its numbers kept as written; nil for no or broken JSON.
func decode(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}
