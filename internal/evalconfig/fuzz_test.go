package evalconfig

import (
	"encoding/json"
	"errors"
	"testing"
)

// FuzzParse: no input panics; every problem has a place inside the file; what is accepted is JSON.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		head + "}", oneCase, "", "{", "[1,2", "{\"a\"", "\"x", "nul", "{}{}", "{\"a\":{\"a\":1,\"a\":2}}", "\xff", "1e999",
		`{"name": "e", "datasets": [{}, 1, null], "variants": [{"servers": [1]}], "servers": {"": {"transport": 1}}}`,
		`{"name": "d", "cases": [{"id": 1, "assertions": {"toolsTriggered": {"calls": [{"arguments": {"$pattern": "["}}]}}}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, configErr := parseConfig("f", data)
		_, datasetErr := parseDataset("f", data)
		for _, err := range []error{configErr, datasetErr} {
			var ps Problems
			switch {
			case err == nil && !json.Valid(data):
				t.Errorf("accepted what isn't JSON: %q", data)
			case err != nil && !errors.As(err, &ps):
				t.Errorf("error of another kind: %v", err)
			}
			for _, p := range ps {
				if p.Place.Line > 1+len(data) || p.Place.Col > 1+len(data) || p.Msg == "" {
					t.Errorf("place outside the file: %v", p)
				}
			}
		}
	})
}
