//go:build linux

package network

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
)

func TestReachable(t *testing.T) {
	tests := []struct {
		name, in, want string
		ok             bool
	}{
		{"as most", "# made by hand\nsearch a.test b.test\nnameserver 10.0.0.2\noptions ndots:2\n", "search a.test b.test\nnameserver 10.0.0.2\noptions ndots:2\n", true},
		{"systemd's", "nameserver 127.0.0.53\noptions edns0\n", "options edns0\n", false},
		{"one of two", "nameserver 127.0.0.1\nnameserver\t192.0.2.1", "nameserver 192.0.2.1\n", true},
		{"by IPv6 alone", "nameserver fe80::1%eth0\nnameserver 2001:db8::1\n", "", false},
		{"nowhere", "nameserver 0.0.0.0\nnameserver here\nsortlist 10.0.0.0\n", "", false},
		{"empty", "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := reachable([]byte(tt.in)); string(got) != tt.want || ok != tt.ok {
				t.Errorf("%q, %v", got, ok)
			}
		})
	}
}

// TestReadIn: a link of the engine's leads to the engine's file, whichever way it's written.
func TestReadIn(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"etc", "run"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "run/there"), []byte("in"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"/run/there", "../run/there", "../../../../run/there"} {
		file := filepath.Join(root, "etc/resolv.conf")
		os.Remove(file)
		if err := os.Symlink(link, file); err != nil {
			t.Fatal(err)
		}
		if b, err := readIn(root, "etc/resolv.conf"); err != nil || string(b) != "in" {
			t.Errorf("%s: %q, %v", link, b, err)
		}
	}
	if _, err := readIn(root, "etc/absent"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}

func TestFreeSubnet(t *testing.T) {
	const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	route := func(dst, mask string) string {
		return "eth0\t" + dst + "\t00000000\t0001\t0\t0\t0\t" + mask + "\t0\t0\t0\n"
	}
	tests := []struct {
		name, routes, want string
	}{
		{"none", head, "10.231.0.0/20"},
		{"to everywhere", head + route("00000000", "00000000"), "10.231.0.0/20"},
		{"elsewhere", head + route("000200C0", "00FFFFFF"), "10.231.0.0/20"},
		{"one of ours is another's", head + route("0100E70A", "FFFFFFFF"), "10.231.16.0/20"},
		{"a whole /16", head + route("0000E70A", "0000FFFF"), "10.232.0.0/20"},
		{"all of 10", head + route("0000000A", "000000FF"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := freeSubnet([]byte(tt.routes))
			if (err != nil) != (tt.want == "") || err == nil && got.String() != tt.want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// TestNoPlugins: one line names what is missing, where it was looked for, and its package.
func TestNoPlugins(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "usr/lib/cni")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, p := range plugins {
		_, err := pluginDir(root)
		if err == nil {
			t.Fatalf("without %s: no error", p)
		}
		for _, want := range []string{p, "/opt/cni/bin", "/usr/lib/cni", "containernetworking-plugins"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q doesn't say %s", err, want)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, p), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := pluginDir(root); got != "/usr/lib/cni" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCheck(t *testing.T) {
	if err := (Engine{}).Check(); !errors.Is(err, backends.ErrUnsupported) || !strings.Contains(err.Error(), "none of containerd's processes") {
		t.Errorf("unseen: %v", err)
	}
	if err := (Engine{}).Detach(t.Context(), "x"); !errors.Is(err, backends.ErrUnsupported) {
		t.Errorf("detach of what can't be reached: %v", err)
	}
	if os.Geteuid() == 0 {
		return
	}
	// This process stands for an engine in the machine's own network.
	for rootless, want := range map[bool]string{true: "--net=host", false: "run berth as root"} {
		if err := (Engine{os.Getpid(), rootless}).Check(); !errors.Is(err, backends.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("rootless %v: %v", rootless, err)
		}
	}
}

func TestStartTime(t *testing.T) {
	own, err := startTime(os.Getpid())
	if err != nil || own == "" {
		t.Fatalf("%q, %v", own, err)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := startTime(child.Process.Pid); err != nil {
		t.Error(err)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	if got, err := startTime(child.Process.Pid); err == nil {
		t.Errorf("of one that has ended: %q", got)
	}
}
