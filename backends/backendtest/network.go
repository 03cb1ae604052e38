package backendtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/oci"
)

var networkCases = []testCase{
	{"network: trap 6, none is a loopback alone", "Isolation", func(t *testing.T, e *env) {
		if got := e.interfaces(t, e.networked(t, backends.NetworkNone)); len(got) != 1 || got[0] != "lo" {
			t.Errorf("interfaces %v", got)
		}
	}},
	{"network: the names that need none", "Isolation", func(t *testing.T, e *env) {
		s := e.started(t)
		for _, host := range []string{"localhost", oci.DefaultHostname} {
			if got := strings.Fields(string(e.output(t, s, nil, "lookup", host))); !slices.Contains(got, "127.0.0.1") {
				t.Errorf("%s is %v", host, got)
			}
		}
		if got := strings.TrimSpace(string(e.output(t, s, nil, "file", "/etc/hostname"))); got != oci.DefaultHostname {
			t.Errorf("/etc/hostname has %q", got)
		}
	}},
	{"network: trap 6, engine is more", "NetworkEngine", func(t *testing.T, e *env) {
		if got := e.interfaces(t, e.networked(t, backends.NetworkEngine)); len(got) < 2 {
			t.Errorf("interfaces %v", got)
		}
	}},
	{"network: trap 7, no listener shows on the host", "NetworkEngine", func(t *testing.T, e *env) {
		if info, err := e.Info(e.context(t)); err != nil || info.Remote {
			t.Skipf("the engine's host isn't this one (%v)", err)
		}
		s := e.networked(t, backends.NetworkEngine)
		for _, address := range []string{"127.0.0.1", "0.0.0.0"} {
			e.listens(t, s, net.JoinHostPort(address, freePort(t)))
		}
	}},
}

func (e *env) networked(t *testing.T, network string) backends.Shard {
	t.Helper()
	c := e.config(t)
	c.Network = network
	s := e.create(t, c)
	if err := s.Start(e.context(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

// interfaces reads the names in /proc/net/dev, after its two lines of headings.
func (e *env) interfaces(t *testing.T, s backends.Shard) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(string(e.output(t, s, nil, "file", "/proc/net/dev"))) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// freePort is one that nothing listens on here, and that none is given who asks for any: those are above.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(10_000 + rand.IntN(20_000))
		if l, err := net.Listen("tcp", ":"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// listens starts a listener in the shard and tries to reach it from here (podman#24045).
func (e *env) listens(t *testing.T, s backends.Shard, address string) {
	t.Helper()
	// It ends once it was reached, from inside: then it really listened.
	listening := newReady()
	p := probeProcess("listen", address)
	p.Stdout = listening
	done := make(chan error, 1)
	go func() {
		st, err := s.Exec(e.context(t), p)
		if err == nil && st.Code != 0 {
			err = fmt.Errorf("status %d", st.Code)
		}
		done <- err
	}()
	listening.wait(t)
	_, port, _ := net.SplitHostPort(address)
	if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
		c.Close()
		t.Errorf("%s in the shard is reached on the host", address)
		return
	}
	e.output(t, s, nil, "dial", "127.0.0.1:"+port)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
