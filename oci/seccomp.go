package oci

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"
)

//go:generate go run ./internal/genseccomp -o seccomp.json

// SeccompLabel is the image label that Podman takes a container's profile from when it is told
// seccomp_policy=image. Its API otherwise takes a path on the engine's machine, which a remote
// engine doesn't share.
const SeccompLabel = "io.containers.seccomp.profile"

//go:embed seccomp.json
var seccompProfile []byte

// SeccompProfile gives the profile of every shard as JSON, for SeccompLabel: the default of
// github.com/moby/profiles/seccomp without capabilities, for amd64 and arm64. The same bytes are
// the runtime spec's own form, so every engine gets the same rules. It is one line: Podman's tools
// write a label's line breaks back as escapes that its parser then refuses.
func SeccompProfile() []byte {
	var line bytes.Buffer
	if err := json.Compact(&line, seccompProfile); err != nil {
		panic(fmt.Sprintf("oci: embedded seccomp.json: %v", err)) // generated; its test reads it
	}
	return line.Bytes()
}

func linuxSeccomp() *specs.LinuxSeccomp {
	var s specs.LinuxSeccomp
	if err := json.Unmarshal(seccompProfile, &s); err != nil {
		panic(fmt.Sprintf("oci: embedded seccomp.json: %v", err)) // generated; its test reads it
	}
	return &s
}
