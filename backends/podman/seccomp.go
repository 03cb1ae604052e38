package podman

import (
	"bytes"
	"encoding/json"
	"fmt"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// seccompLabel is where Podman finds the profile under seccomp_policy=image. Its API takes one
// otherwise only as a path on the engine's machine.
const seccompLabel = "io.containers.seccomp.profile"

// checkSeccomp makes sure that the label says exactly the spec's profile, as the runtime spec writes
// it: Podman would take an allow-all one as readily.
func checkSeccomp(labels map[string]string, want *specs.LinuxSeccomp) error {
	label, ok := labels[seccompLabel]
	if !ok {
		return invalid("the image has no label %s: build it with `berth runner setup`", seccompLabel)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(label)))
	d.DisallowUnknownFields()
	var got specs.LinuxSeccomp
	if err := d.Decode(&got); err != nil {
		return invalid("the image's label %s isn't a seccomp profile of the runtime spec (%v)", seccompLabel, err)
	}
	if d.More() {
		return invalid("the image's label %s holds more than a seccomp profile", seccompLabel)
	}
	same, err := sameJSON(got, *want)
	if err != nil {
		return err
	}
	if !same {
		return invalid("the image's seccomp profile (label %s) isn't the one that shards get: build it anew with `berth runner setup`", seccompLabel)
	}
	return nil
}

func sameJSON(a, b any) (bool, error) {
	x, err := json.Marshal(a)
	if err != nil {
		return false, fmt.Errorf("seccomp profile: %w", err)
	}
	y, err := json.Marshal(b)
	return bytes.Equal(x, y), err
}
