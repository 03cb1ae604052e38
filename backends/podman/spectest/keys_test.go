package spectest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/containers/podman/v5/pkg/specgen"
)

// problems tells, a line each, what of a create request Podman's own type doesn't know or reads
// differently: the request is read into it and written again. The API takes a misspelt key without a
// word.
func problems(request []byte) ([]string, error) {
	var spec specgen.SpecGenerator
	if err := json.Unmarshal(request, &spec); err != nil {
		return nil, err
	}
	want, got := map[string]any{}, map[string]any{}
	if err := json.Unmarshal(request, &want); err != nil {
		return nil, err
	}
	back, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(back, &got); err != nil {
		return nil, err
	}
	var all []string
	known := keysOf(reflect.TypeFor[specgen.SpecGenerator]())
	for k, v := range want {
		if !known[k] {
			all = append(all, fmt.Sprintf("Podman has no key %s", k))
			continue
		}
		all = append(all, differences(k, v, got[k])...)
	}
	return all, nil
}

// differences compares below one key. What says nothing may be left out.
func differences(path string, want, got any) []string {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		var all []string
		for k, v := range w {
			all = append(all, differences(path+"."+k, v, g[k])...)
		}
		return all
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			var all []string
			for i, v := range w {
				all = append(all, differences(fmt.Sprintf("%s[%d]", path, i), v, g[i])...)
			}
			return all
		}
	}
	if empty(want) && empty(got) || reflect.DeepEqual(want, got) {
		return nil
	}
	if got == nil {
		return []string{fmt.Sprintf("Podman drops %s (%v)", path, want)}
	}
	return []string{fmt.Sprintf("Podman reads %v where %s is %v", got, path, want)}
}

// keysOf lists the JSON keys of a struct and of those that it embeds.
func keysOf(t reflect.Type) map[string]bool {
	keys := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for k := range keysOf(f.Type) {
				keys[k] = true
			}
			continue
		}
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			keys[name] = true
		}
	}
	return keys
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return reflect.ValueOf(v).IsZero()
}
