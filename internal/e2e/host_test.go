package e2e

import (
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// setUpFails runs an eval on a host that can't run it: nothing is tried, and one line says why and
// what to do.
func (p *project) setUpFails(want ...string) {
	p.t.Helper()
	r := p.rehearse(echo)
	r.expect(p.t, 3, want...)
	for line := range strings.Lines(r.stderr) {
		if !strings.HasPrefix(line, "berth: ") && !strings.HasPrefix(line, "[berth] warning: ") {
			p.t.Errorf("more than a line of error:\n%s", r.stderr)
		}
	}
	if r.dir != "" || r.stdout != "" {
		p.t.Errorf("folder %q, stdout %q", r.dir, r.stdout)
	}
	p.nothingLeft()
}

// TestNoPodman: neither a podman command nor, in the runtime folder, a socket of one that runs.
func TestNoPodman(t *testing.T) {
	p := newProject(t, sayCases("a"))
	p.env = append(p.env, "PATH="+t.TempDir(), "XDG_RUNTIME_DIR="+t.TempDir())
	p.setUpFails("install Podman 4.3.0 or later")
}

func TestOldPodman(t *testing.T) {
	p := newProject(t, sayCases("a"))
	l, err := net.Listen("unix", p.path("old.sock"))
	if err != nil {
		t.Fatal(err)
	}
	// What Podman 3.4 answers to the question that every client begins with.
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Libpod-API-Version", "3.4.4")
		w.Write([]byte("OK"))
	}))
	t.Cleanup(func() { l.Close() })
	p.env = append(p.env, "CONTAINER_HOST=unix://"+p.path("old.sock"))
	p.setUpFails("berth needs Podman 4.3.0 or later")
}

func TestImageMissing(t *testing.T) {
	p := newProject(t, sayCases("a"))
	p.options = slices.DeleteFunc(p.options, func(o string) bool { return strings.HasPrefix(o, "image=") })
	p.options = append(p.options, "image=localhost/berth-e2e:none")
	p.setUpFails("the engine doesn't have localhost/berth-e2e:none", "berth runner setup podman")
}

// TestNoSubordinateIDs runs berth where this user has none, with a Podman that was never started there.
func TestNoSubordinateIDs(t *testing.T) {
	p := newProject(t, sayCases("a"))
	for _, dir := range []string{"home", "run"} {
		if err := os.Mkdir(p.path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.env = append(p.env, "HOME="+p.path("home"), "XDG_RUNTIME_DIR="+p.path("run"))
	p.inNamespaces(`mount --bind /dev/null /etc/subuid; mount --bind /dev/null /etc/subgid`)
	p.setUpFails("usermod --add-subuids")
}

// TestLimits: a limit that isn't in force ends the run, unless the user allows that; then the run's
// record says so.
func TestLimits(t *testing.T) {
	p := newProject(t, sayCases("a"))
	bestEffort := func(o string) bool { return o == "limits=best-effort" }
	strict := slices.DeleteFunc(slices.Clone(p.options), bestEffort)
	lax := append(slices.Clone(strict), "limits=best-effort")

	p.options = strict
	r := p.rehearse(echo)
	if p.limits {
		r.expect(t, 0)
	} else {
		r.expect(t, 3, "limits_not_enforced: the engine doesn't apply ", "memory", "limits=best-effort")
		r.missing(t, "a", "limits_not_enforced")
	}

	p.options = lax
	r = p.rehearse(echo)
	r.expect(t, 0)
	rec := r.record(t).Runner
	if rec.LimitsMode != "best-effort" || slices.Contains(rec.NotEnforced, "memory") == p.limits {
		t.Errorf("recorded: %s, not enforced %v", rec.LimitsMode, rec.NotEnforced)
	}
	p.nothingLeft()
}
