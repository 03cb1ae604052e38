package testrig

import (
	"os"
	"os/exec"
	"testing"

	"github.com/berth-run/berth/backends/containerd"
)

// EngineAddress is an engine's own in its network, and the nameserver that its shards are told.
const EngineAddress = "10.0.2.100"

// ContainerdAsRoot starts a containerd of its own as root and connects to it. It ends with the test.
func ContainerdAsRoot(t testing.TB) *containerd.Backend {
	t.Helper()
	e := StartContainerdAsRoot(t)
	return connect(t, containerd.Options{Address: e.Socket()})
}

// ContainerdRootless starts a rootless containerd, below rootlesskit, and finds it as berth does. It ends
// with the test.
func ContainerdRootless(t testing.TB) *containerd.Backend {
	t.Helper()
	e := StartContainerdRootless(t)
	t.Setenv("XDG_RUNTIME_DIR", e.Dir)
	t.Setenv("CONTAINERD_ADDRESS", "")
	return connect(t, containerd.Options{})
}

func connect(t testing.TB, o containerd.Options) *containerd.Backend {
	t.Helper()
	b, err := containerd.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing containerd: %v", err)
		}
	})
	return b
}

// StartContainerdAsRoot starts one as root, with everything of it in one folder and with a network that
// isn't the machine's.
func StartContainerdAsRoot(t testing.TB, options ...Option) *Containerd {
	t.Helper()
	NeedRoot(t)
	needCommands(t, "containerd", "runc", "unshare", "ip", "iptables")
	e := newContainerd(t, options)
	e.address = e.path("run/c.sock")
	e.Env = []string{"CONTAINERD_ADDRESS=" + e.address}
	if err := os.WriteFile(e.path("resolv.conf"), []byte("nameserver "+EngineAddress+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	e.launch(exec.Command("unshare", "--net", "--mount", "sh", "-c", `set -e
ip link set lo up
ip addr add "$2"/32 dev lo
mount --bind "$1/resolv.conf" "$(readlink -f /etc/resolv.conf)"
`+supervisor, "sh", e.Dir, EngineAddress, e.disk))
	return e
}

// StartContainerdRootless starts a rootless one, below rootlesskit, with everything of it in one folder.
func StartContainerdRootless(t testing.TB, options ...Option) *Containerd {
	t.Helper()
	NeedRootless(t)
	needCommands(t, "containerd", "runc", "rootlesskit", "newuidmap", "slirp4netns")
	e := newContainerd(t, options)
	e.address, e.state = "/run/containerd/containerd.sock", e.path("containerd-rootless")
	e.Env = []string{"XDG_RUNTIME_DIR=" + e.Dir, "CONTAINERD_ADDRESS="}
	// Of /run the engine has a copy, with a link where the machine's containerd has its folder.
	e.launch(exec.Command("rootlesskit", "--state-dir="+e.state, "--net=slirp4netns", "--mtu=65520", "--disable-host-loopback",
		"--copy-up=/etc", "--copy-up=/run", "--copy-up=/var/lib", "--propagation=rslave", "sh", "-c", `set -e
rm -rf /run/containerd /run/xtables.lock /var/lib/cni
rm -f /etc/resolv.conf 2>/dev/null || : # a link to the machine's, or, as newer rootlesskits have it, a mount of its own
echo "nameserver $2" >/etc/resolv.conf
`+supervisor, "sh", e.Dir, EngineAddress, e.disk))
	return e
}

// NeedRoot skips where this isn't root's part of the tests.
func NeedRoot(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a container engine: run without -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: run `make test` as root")
	}
}

func needCommands(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s: run `scripts/prereqs --tests`", name)
		}
	}
}
