package podman

import (
	"errors"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
)

// TestExplain holds what engines say, each with where it was seen: in the issue of that number, cut to
// the part that matters, in a source, or here, with Debian 12's Podman 4.3.1 and crun 1.8.1.
func TestExplain(t *testing.T) {
	tests := []struct {
		name   string
		seen   string
		said   string
		want   error
		advice string
	}{
		{"hybrid cgroups", "here, on a machine with both",
			"OCI runtime error: crun: cgroups in hybrid mode not supported, drop all controllers from cgroupv2", backends.ErrUnavailable, "unified_cgroup_hierarchy"},
		{"trap 3: no session", "podman#7938",
			"cannot set limits without cgroups: OCI runtime error", backends.ErrUnavailable, "enable-linger"},
		{"no session that systemd talks to", "podman#25824",
			`unable to start container "7063a74eec92": crun: sd-bus call: Interactive authentication required.: Permission denied: OCI permission denied`, backends.ErrUnavailable, "enable-linger"},
		{"trap 4: too few ids", "podman#12715",
			"Error processing tar file(exit status 1): potentially insufficient UIDs or GIDs available in user namespace (requested 0:42 for /etc/gshadow): Check /etc/subuid and /etc/subgid: lchown /etc/gshadow: invalid argument", backends.ErrUnavailable, "--add-subuids"},
		{"trap 4: no ids", "pulp-oci-images#304",
			`cannot find UID/GID for user pulp: no subuid ranges found for user "pulp" in /etc/subuid - check rootless mode in man pages.`, backends.ErrUnavailable, "--add-subuids"},
		{"ids that aren't the user's", "shadow#424",
			"newuidmap 42 [0 1000 1 1 100000 65536 65537 100000 65536] failed: newuidmap: write to uid_map failed: Invalid argument", backends.ErrUnavailable, "--add-subuids"},
		{"no newuidmap", "here, without Debian's package uidmap",
			`command required for rootless mode with multiple IDs: exec: "newuidmap": executable file not found in $PATH`, backends.ErrUnavailable, "apt install uidmap"},
		{"user namespaces forbidden", "podman#10802",
			"cannot clone: Operation not permitted\nError: cannot re-exec process", backends.ErrUnavailable, "user_namespaces"},
		{"user namespaces switched off", "fics-cluster-guide#50",
			"cannot clone: Invalid argument\nuser namespaces are not enabled in /proc/sys/user/max_user_namespaces\nError: could not get runtime: cannot re-exec process", backends.ErrUnavailable, "user_namespaces"},
		{"no tun device", "podman#14701",
			`/usr/bin/slirp4netns failed: "open(\"/dev/net/tun\"): Permission denied\nWARNING: Support for seccomp is experimental\nchild failed(1)"`, backends.ErrUnavailable, "chmod 666 /dev/net/tun"},
		{"no slirp4netns", "the source of common v0.67.1",
			"could not find slirp4netns, the network namespace can't be configured: not found", backends.ErrUnavailable, "install slirp4netns"},
		{"no pasta", "the source of common v0.67.1",
			"could not find pasta, the network namespace can't be configured: not found", backends.ErrUnavailable, "install passt"},
		{"disk full", "podman#15957",
			`oci-archive: creating temp directory: untarring file "/var/tmp/oci1076929110": write /var/tmp/oci1076929110/layer.tar: no space left on device`, backends.ErrUnavailable, "podman system df"},
		{"no TMPDIR", "here, with Podman 4.3.1 and TMPDIR=/nonexistent",
			"runtime error: invalid memory address or nil pointer dereference", backends.ErrUnavailable, "TMPDIR"},
		{"trap 8: database", "podman#20809",
			"database is locked", backends.ErrUnavailable, "fewer shards"},
		{"seccomp label", "here, with an image that has none",
			"no seccomp policy defined by image", backends.ErrInvalid, "berth runner setup"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := explain(&apiError{status: 500, message: tt.said})
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.advice) || !strings.Contains(err.Error(), tt.said) {
				t.Errorf("%s (%s) became %v", tt.said, tt.seen, err)
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
