package podman_test

import (
	"slices"
	"testing"

	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/backendtest/parity"
	"github.com/berth-run/berth/backends/podman"
	"github.com/berth-run/berth/internal/testrig"
)

// allowed is what Podman makes otherwise of a shard's spec, each with why nothing is lost.
var allowed = []parity.Allowed{
	{Field: "ociVersion", Got: "*", Why: "Podman's own version of the format"},
	{Field: "annotations*", Got: "*", Why: "Podman's notes for itself"},
	{Field: "root.path", Got: `"/*"`, Why: "where the image is"},
	{Field: "process.env[HOSTNAME]", Got: `"berth"`, Why: "the host's name once more"},
	{Field: "process.user.additionalGids[0]", Got: "1000", Why: "the shard's group once more"},
	{Field: "process.rlimits[RLIMIT_NOFILE]*", Got: "*", Why: "the user's own hard limit, which he may have anyway"},
	{Field: "process.rlimits[RLIMIT_NPROC]*", Got: "*", Why: "the user's own hard limit, which he may have anyway"},
	{Field: "linux.rootfsPropagation", Got: parity.Absent, Why: "Podman hands none on, and no runtime's own lets a mount out of the shard"},
	{Field: "linux.resources.devices[0]*", Got: parity.Absent, Why: "no device rules where an ordinary user could make no device"},
	{Field: "linux.sysctl", Got: "{}", Why: "for the next"},
	{Field: "linux.sysctl.net.ipv4.ping_group_range", Got: `"0 0"`, Why: "a default of Podman's, for a group that the user isn't in"},
	{Field: "linux.readonlyPaths[/proc/asound]", Got: "true", Why: "one more"},
	{Field: "mounts[/dev].options[noexec]", Got: `""`, Why: "one more", Sometimes: true},
	{Field: "mounts[/dev/pts].options[gid]", Got: `"5"`, Why: "a group that the user isn't in"},
	{Field: "mounts[/dev/shm].source", Got: `"tmpfs"`, Why: "a tmpfs has no source"},
	{Field: "mounts[/*].options[rw]", Got: `""`, Why: "so is a tmpfs that doesn't say ro"},
	{Field: "mounts[/*].options[rprivate]", Got: `""`, Why: "as linux.rootfsPropagation has it"},
	{Field: "mounts[/etc/hostname]*", Got: "*", Why: "a file of Podman's; the shard finds that it can't write it"},
	{Field: "mounts[/etc/hosts]*", Got: "*", Why: "a file of Podman's; the shard finds that it can't write it"},
	{Field: "mounts[/run/.containerenv]*", Got: "*", Why: "a file of Podman's; the shard finds that it can't write it"},
}

func (r rig) parity(t *testing.T) parity.Engine {
	all := slices.Concat(allowed, parity.Limits(t, r, "cpu"))
	return parity.Engine{Backend: r, Image: r.ref, Allowed: all, Config: func(t *testing.T, id string) []byte {
		t.Helper()
		config, err := podman.RuntimeConfig(t.Context(), r.Backend, id)
		if err != nil {
			t.Fatal(err)
		}
		return config
	}}
}

func TestParity(t *testing.T) {
	b := testrig.Podman(t)
	parity.Run(t, newRigWith(t, b, backendtest.NewImage(t, testrig.Probe(t), nil).WithWorker(t, testrig.Worker(t))).parity(t))
}
