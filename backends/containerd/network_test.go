package containerd_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/internal/testrig"
)

func TestNetworkAsRoot(t *testing.T) { testNetwork(t, testrig.ContainerdAsRoot(t)) }

func TestNetworkRootless(t *testing.T) { testNetwork(t, testrig.ContainerdRootless(t)) }

// testNetwork follows the engine's network from its first shard to its last.
func testNetwork(t *testing.T, b *containerd.Backend) {
	r := rigOn(t, b)
	noNetwork(t, b)
	startDNS(t, b)
	one, other := r.networked(t), r.networked(t)
	for _, s := range []backends.Shard{one, other} {
		for host, want := range map[string]string{"elsewhere.test": someAddress, "localhost": "127.0.0.1", "berth": "127.0.0.1"} {
			if got := strings.TrimSpace(output(t, s, "lookup", host)); got != want {
				t.Errorf("%s is %q, want %s", host, got, want)
			}
		}
	}
	if err := one.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(output(t, other, "lookup", "elsewhere.test")); got != someAddress {
		t.Errorf("when another was removed: %q", got)
	}
	// It ends by itself, and is removed afterwards: what it had is known all the same.
	if _, err := b.TaskService().Kill(t.Context(), &tasks.KillRequest{ContainerID: other.ID(), Signal: 9}); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := other.Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	noNetwork(t, b)
}

// TestNetworkClearsAwayAsRoot: what a shard had that somebody removed by other means, the next one's end
// takes away. And firewalls that let nothing through, as Docker's, get a rule for each.
func TestNetworkClearsAwayAsRoot(t *testing.T) {
	r := newRig(t)
	inEngine(t, r.Backend, "iptables", "-P", "FORWARD", "DROP")
	gone, last := r.networked(t), r.networked(t)
	if rules := inEngine(t, r.Backend, "iptables", "-S"); strings.Count(rules, "-j ACCEPT") != 4 {
		t.Errorf("not two rules for each shard's address:\n%s", rules)
	}
	if err := r.EndTask(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if err := r.ContainerService().Delete(t.Context(), gone.ID()); err != nil {
		t.Fatal(err)
	}
	if err := last.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	noNetwork(t, r.Backend)
}

// TestNetworkAtOnceAsRoot: shards that come and go side by side share the network, and none is left.
func TestNetworkAtOnceAsRoot(t *testing.T) {
	r := newRig(t)
	done := make(chan error)
	const shards = 8
	for range shards {
		c := r.config(t)
		c.Network = backends.NetworkEngine
		go func() {
			s, err := r.Create(t.Context(), c)
			if err == nil {
				err = s.Start(t.Context())
				if rerr := s.Remove(t.Context()); err == nil {
					err = rerr
				}
			}
			done <- err
		}()
	}
	for range shards {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	noNetwork(t, r.Backend)
}

func (r rig) networked(t *testing.T) backends.Shard {
	t.Helper()
	c := r.config(t)
	c.Network = backends.NetworkEngine
	return r.start(t, c)
}

// noNetwork looks at all that a network is made of. A killed berth's helper may still be at it.
func noNetwork(t *testing.T, b *containerd.Backend) {
	t.Helper()
	folder := "/run/berth-network-" + strings.TrimSpace(inEngine(t, b, "stat", "-Lc", "%i", "/proc/self/ns/net"))
	files := []string{"sh", "-c", `ls -d "$1" 2>/dev/null || true`, "sh", folder}
	for range 600 {
		if inEngine(t, b, files...) == "" {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	links := inEngine(t, b, "ip", "-o", "link")
	if strings.Contains(links, "veth") {
		t.Errorf("interfaces are left:\n%s", links)
	}
	for _, table := range []string{"nat", "filter"} {
		if rules := inEngine(t, b, "iptables", "-t", table, "-S"); strings.Contains(rules, "CNI") {
			t.Errorf("rules are left:\n%s", rules)
		}
	}
	if got := inEngine(t, b, files...); got != "" {
		t.Errorf("files are left:\n%s", got)
	}
	if mounts := inEngine(t, b, "cat", "/proc/self/mountinfo"); strings.Contains(mounts, folder) {
		t.Errorf("mounts are left:\n%s", mounts)
	}
}

// enter makes a command run in the engine's mount and network namespaces.
func enter(b *containerd.Backend, mount bool, args ...string) *exec.Cmd {
	pid, rootless := b.Process()
	ns := []string{"--target", strconv.Itoa(pid), "--net"}
	if mount {
		ns = append(ns, "--mount")
	}
	if rootless {
		ns = append(ns, "--user", "--preserve-credentials")
	}
	cmd := exec.Command("nsenter", slices.Concat(ns, []string{"--"}, args)...)
	cmd.Env = append(os.Environ(), "PATH=/usr/sbin:/sbin:"+os.Getenv("PATH"))
	return cmd
}

func inEngine(t *testing.T, b *containerd.Backend, args ...string) string {
	t.Helper()
	out, err := enter(b, true, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// asDNS in the environment makes this test's binary a nameserver, at that address.
const asDNS = "BERTH_TEST_DNS"

// someAddress is what every name stands for, of those kept for documentation (RFC 5737).
const someAddress = "192.0.2.7"

// startDNS runs one where the engine is.
func startDNS(t *testing.T, b *containerd.Backend) {
	t.Helper()
	cmd := enter(b, false, "/proc/self/exe")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args[len(cmd.Args)-1] = exe
	cmd.Env = append(cmd.Env, asDNS+"="+testrig.EngineAddress+":53")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the nameserver: %q, %v", line, err)
	}
}

func serveDNS(address string) error {
	var conn net.PacketConn
	var err error
	for range 600 { // a rootless engine's address comes a little after the engine
		if conn, err = net.ListenPacket("udp4", address); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	fmt.Println("ready")
	buf := make([]byte, 4096)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return err
		}
		var m dnsmessage.Message
		if err := m.Unpack(buf[:n]); err != nil || len(m.Questions) != 1 {
			continue
		}
		m.Response, m.Additionals = true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: [4]byte{192, 0, 2, 7}},
			}}
		}
		answer, err := m.Pack()
		if err != nil {
			return err
		}
		if _, err := conn.WriteTo(answer, from); err != nil {
			return err
		}
	}
}
