package image

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed lock.json
var lockJSON []byte

// lockFile is lock.json: every byte from outside that isn't signed by Debian, by its published hash.
type lockFile struct {
	// Epoch is the time stamp of every file in an image, in seconds (SOURCE_DATE_EPOCH).
	Epoch int64              `json:"epoch"`
	Apps  map[string]appLock `json:"apps"`
}

type appLock struct {
	Default string `json:"default"`
	// Versions holds a package for each version and architecture (GOARCH).
	Versions map[string]map[string]packageLock `json:"versions"`
}

// packageLock is one npm package.
type packageLock struct {
	Spec string `json:"spec"`
	// Size in bytes, for progress only; 0 when it isn't known.
	Size int64 `json:"size,omitempty"`
	// Integrity is the registry's, in the form of Subresource Integrity: "sha512-" and base64.
	Integrity string `json:"integrity"`
}

var locked = sync.OnceValue(func() lockFile {
	var l lockFile
	if err := json.Unmarshal(lockJSON, &l); err != nil {
		panic("image: lock.json: " + err.Error()) // embedded, and read by a test
	}
	return l
})

// app finds an app's package; version "" is the default one.
func (l lockFile) app(name, version, arch string) (string, packageLock, error) {
	a, ok := l.Apps[name]
	if !ok {
		return "", packageLock{}, fmt.Errorf("%w: no app %q in the lock", ErrRecipe, name)
	}
	if version == "" {
		version = a.Default
	}
	archs, ok := a.Versions[version]
	if !ok {
		known := slices.Sorted(maps.Keys(a.Versions))
		return "", packageLock{}, fmt.Errorf("%w: no %s %s in the lock, which has %s", ErrRecipe, name, version, strings.Join(known, ", "))
	}
	p, ok := archs[arch]
	if !ok {
		return "", packageLock{}, fmt.Errorf("%w: no %s %s for %s in the lock", ErrRecipe, name, version, arch)
	}
	return version, p, nil
}
