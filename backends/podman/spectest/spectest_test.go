// Package spectest holds the keys of our create request against Podman's own type. It's a module of
// its own, because that type brings a hundred modules and build tags. Run it in this folder:
//
//	CGO_ENABLED=0 go test -tags remote,containers_image_openpgp,exclude_graphdriver_btrfs ./...
package spectest

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/containers/podman/v5/pkg/specgen"
)

const golden = "../testdata/create.json"

// TestKeys: every key of ours that says something is one of Podman's, and comes back with its value.
// A misspelt key is taken without a word by the API.
func TestKeys(t *testing.T) {
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var spec specgen.SpecGenerator
	if err := json.Unmarshal(b, &spec); err != nil {
		t.Fatal(err)
	}
	back, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(back, &got); err != nil {
		t.Fatal(err)
	}
	keys := keysOf(reflect.TypeFor[specgen.SpecGenerator]())
	for k, w := range want {
		switch g, ok := got[k]; {
		case !keys[k]:
			t.Errorf("Podman has no key %s", k)
		case ok && !reflect.DeepEqual(g, w):
			t.Errorf("%s: Podman reads %v of %v", k, g, w)
		case !ok && !empty(w):
			t.Errorf("%s: Podman drops %v", k, w)
		}
	}
}
