package podman

import (
	"errors"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
)

// TestExplain holds what engines really said, by the number in the list of traps where there is one.
func TestExplain(t *testing.T) {
	tests := []struct {
		name   string
		said   string
		want   error
		advice string
	}{
		{"hybrid cgroups", "crun: cgroups in hybrid mode not supported: OCI runtime error", backends.ErrUnavailable, "unified_cgroup_hierarchy"},
		{"trap 3", "error creating container: cannot set limits without cgroups", backends.ErrUnavailable, "enable-linger"},
		{"no user bus", "crun: sd-bus call: Interactive authentication required.: OCI permission denied", backends.ErrUnavailable, "enable-linger"},
		{"trap 4", "payload does not match any of the supported image formats: potentially insufficient UIDs or GIDs available in user namespace (requested 0:42 for /etc/gshadow)", backends.ErrUnavailable, "--add-subuids"},
		{"subuid", "cannot find UID/GID for user x: no subuid ranges found for user \"x\" in /etc/subuid", backends.ErrUnavailable, "--add-subuids"},
		{"newuidmap missing", `command required for rootless mode with multiple IDs: exec: "newuidmap": executable file not found in $PATH`, backends.ErrUnavailable, "apt install uidmap"},
		{"user namespaces", "cannot clone: Operation not permitted\nError: cannot re-exec process", backends.ErrUnavailable, "user_namespaces"},
		{"tun", "slirp4netns failed: \"open(\\\"/dev/net/tun\\\"): Permission denied\"", backends.ErrUnavailable, "chmod 666 /dev/net/tun"},
		{"disk full", "unable to write archive to temporary file: write /var/tmp/x: no space left on device", backends.ErrUnavailable, "podman system df"},
		{"seccomp label", "no seccomp policy defined by image", backends.ErrInvalid, "berth runner setup"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := explain(&apiError{status: 500, message: tt.said})
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.advice) || !strings.Contains(err.Error(), tt.said) {
				t.Errorf("error %v", err)
			}
		})
	}
	plain := errors.New("something else")
	if err := explain(plain); !errors.Is(err, plain) || err.Error() != plain.Error() {
		t.Errorf("an unknown error became %v", err)
	}
}

func TestServiceFailureIsOneLine(t *testing.T) {
	for printed, want := range map[string]string{
		"":                       "",
		"Error: no such thing\n": "no such thing",
		`time="2026-11-29T17:24:49Z" level=warning msg="\"/\" is not a shared mount"
time="2026-11-29T17:24:49Z" level=error msg="no subuid ranges found for user \"x\""
cannot setresgid: Invalid argument
Error: setting up the process
`: `no subuid ranges found for user "x"; cannot setresgid: Invalid argument; setting up the process`,
		`time="2026-11-29T17:24:49Z" level=warning msg=alone` + "\n": "alone",
	} {
		if got := inOneLine(printed); got != want {
			t.Errorf("%q: %q, want %q", printed, got, want)
		}
	}
}
