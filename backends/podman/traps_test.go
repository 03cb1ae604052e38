package podman_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/podman"
	"github.com/berth-run/berth/oci"
)

// Tests of what people hit with Podman in public, by the number in the project's list of traps.

// TestTrap5: plain rootless mapping. keep-id re-owns the whole image at the first start (podman#25087,
// #16541).
func TestTrap5(t *testing.T) {
	p := newRig(t).throughProxy(t, nil)
	s := p.start(t, p.config(t, oci.ShardSpec{}))
	sent := p.created(t)
	if d := cmp.Diff(map[string]any{"nsmode": "host"}, sent["userns"]); d != "" {
		t.Errorf("userns: -want +got\n%s", d)
	}
	if m, ok := sent["idmappings"]; ok {
		t.Errorf("idmappings %v", m)
	}
	// Its root is this user; under keep-id its user would be.
	got := strings.Fields(output(t, s, "file", "/proc/self/uid_map"))[:3]
	if want := []string{"0", strconv.Itoa(os.Getuid()), "1"}; !slices.Equal(got, want) {
		t.Errorf("uid_map begins %v, want %v", got, want)
	}
}

// TestTrap7: nothing is published. That no listener shows on the host is in the conformance suite.
func TestTrap7(t *testing.T) {
	p := newRig(t).throughProxy(t, nil)
	for _, network := range []string{backends.NetworkNone, backends.NetworkEngine} {
		c := p.config(t, oci.ShardSpec{})
		c.Network = network
		p.create(t, c)
		for _, key := range []string{"portmappings", "publish_image_ports", "expose"} {
			if v, ok := p.created(t)[key]; ok {
				t.Errorf("network %s: %s is %v", network, key, v)
			}
		}
	}
}

// TestTrap8: "database is locked" isn't the end of it (podman#25886, #20809, #19824).
func TestTrap8(t *testing.T) {
	const said = "adding container to database: database is locked"
	steps := []string{stepCreate, stepStart, stepExec, "GET /exec/ID/json", "GET /containers/json", "POST /containers/ID/wait", stepDelete}
	p := newRig(t).throughProxy(t, func(w http.ResponseWriter, s string, n int) bool {
		if n != 1 || !slices.Contains(steps, s) {
			return false
		}
		say(w, said)
		return true
	})
	s := p.start(t, p.config(t, oci.ShardSpec{Args: []string{backendtest.ProbePath, "pause"}}))
	if st, err := s.Exec(t.Context(), backends.Process{Args: []string{backendtest.ProbePath, "exit", "3"}}); err != nil || st.Code != 3 {
		t.Errorf("Exec: %v, %v", st, err)
	}
	if _, err := p.List(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := exec.CommandContext(t.Context(), "podman", "kill", s.ID()).Run(); err != nil {
		t.Fatal(err)
	}
	if st, err := s.Wait(t.Context()); err != nil || st.Code != 137 {
		t.Errorf("Wait: %v, %v", st, err)
	}
	if err := s.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	for _, s := range steps {
		if p.count(s) < 2 {
			t.Errorf("%s was sent %d times", s, p.count(s))
		}
	}
}

// TestTrap8Exec: an exec that Podman couldn't start for it isn't started again, since it may have run.
func TestTrap8Exec(t *testing.T) {
	p := newRig(t).throughProxy(t, func(w http.ResponseWriter, s string, _ int) bool {
		if s != stepExecStart {
			return false
		}
		say(w, "database is locked")
		return true
	})
	s := p.start(t, p.config(t, oci.ShardSpec{}))
	_, err := s.Exec(t.Context(), backends.Process{Args: []string{backendtest.ProbePath, "exit", "0"}})
	wantErr(t, err, backends.ErrUnavailable, "fewer shards")
	if n := p.count(stepExecStart); n != 1 {
		t.Errorf("started %d times", n)
	}
}

// TestTrap12: the stopper of a shard is killed while it waits for one that won't end, so it is stuck
// "stopping" (podman#16641, #11274, #19913).
func TestTrap12(t *testing.T) {
	r := newRig(t)
	s := r.start(t, r.config(t, oci.ShardSpec{Args: []string{backendtest.ProbePath, "block"}}))
	stopper := exec.Command("podman", "stop", "--time", "600", s.ID())
	if err := stopper.Start(); err != nil {
		t.Fatal(err)
	}
	defer stopper.Wait()
	defer stopper.Process.Kill()
	eventually(t, "the shard is stopping", func() bool {
		out, err := exec.Command("podman", "inspect", "--format", "{{.State.Status}}", s.ID()).Output()
		return err == nil && strings.TrimSpace(string(out)) == "stopping"
	})
	if err := stopper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := r.Open(t.Context(), s.ID())
	wantErr(t, err, backends.ErrNotFound, "")
}

// TestTrap12Retries: a removal that Podman refuses is tried again after a kill, and what is left at the
// end is told.
func TestTrap12Retries(t *testing.T) {
	const said = "cannot remove container as it could not be stopped: container state improper"
	for name, tt := range map[string]struct{ refusals, deletes, kills int }{
		"some":   {3, 4, 3},
		"always": {podman.Retries + 1, podman.Retries + 1, podman.Retries},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p := r.throughProxy(t, func(w http.ResponseWriter, s string, n int) bool {
				if s != stepDelete || n > tt.refusals {
					return false
				}
				say(w, said)
				return true
			})
			s := p.start(t, p.config(t, oci.ShardSpec{}))
			err := s.Remove(t.Context())
			if p.count(stepDelete) != tt.deletes || p.count(stepKill) != tt.kills {
				t.Errorf("%d removals and %d kills, want %d and %d", p.count(stepDelete), p.count(stepKill), tt.deletes, tt.kills)
			}
			_, gone := r.Open(t.Context(), s.ID())
			if tt.deletes > tt.refusals {
				if err != nil || !errors.Is(gone, backends.ErrNotFound) {
					t.Errorf("Remove: %v, and then Open: %v", err, gone)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), s.ID()[:12]+" is left on the engine") || !strings.Contains(err.Error(), said) {
				t.Errorf("Remove: %v", err)
			}
		})
	}
}

// TestTrap16: shards of the engine's network share it (inspect_ai#60).
func TestTrap16(t *testing.T) {
	r := newRig(t)
	p := r.throughProxy(t, nil)
	before := networks(t)
	for range 3 {
		c := p.config(t, oci.ShardSpec{})
		c.Network = backends.NetworkEngine
		p.start(t, c)
	}
	if d := cmp.Diff(before, networks(t)); d != "" {
		t.Errorf("networks: -before +after\n%s", d)
	}
	if n := p.count("POST /networks/create"); n > 0 {
		t.Errorf("%d networks were asked for", n)
	}
}

func networks(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "podman", "network", "ls", "--quiet").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestForget: sessions are deleted where Podman can do it, as of 4.8, and nowhere else (podman#7391).
func TestForget(t *testing.T) {
	r := newRig(t)
	for version, want := range map[string]int{"4.7.2": 0, "4.8.0": 2, "5.4.0-rhel": 2} {
		t.Run(version, func(t *testing.T) {
			p := r.throughProxy(t, func(w http.ResponseWriter, s string, _ int) bool {
				w.Header().Set("Libpod-API-Version", version)
				return s == stepExecRemove
			})
			s := p.start(t, p.config(t, oci.ShardSpec{}))
			for _, code := range []int{0, 4} {
				st, err := s.Exec(t.Context(), backends.Process{Args: []string{backendtest.ProbePath, "exit", strconv.Itoa(code)}})
				if err != nil || st.Code != code {
					t.Errorf("%v, %v", st, err)
				}
			}
			if got := p.count(stepExecRemove); got != want {
				t.Errorf("%d sessions were deleted, want %d", got, want)
			}
		})
	}
}
