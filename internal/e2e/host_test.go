package e2e

import (
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
)

// setUpFails runs an eval on a host that can't run it: nothing is tried, and one line says why and
// what to do.
func setUpFails(p *rig.Project, want ...string) {
	p.T.Helper()
	r := p.Rehearse(rig.Echo)
	r.Expect(p.T, 3, want...)
	for line := range strings.Lines(r.Stderr) {
		if !strings.HasPrefix(line, "berth: ") && !strings.HasPrefix(line, "[berth] warning: ") {
			p.T.Errorf("more than a line of error:\n%s", r.Stderr)
		}
	}
	if r.Dir != "" || r.Stdout != "" {
		p.T.Errorf("folder %q, stdout %q", r.Dir, r.Stdout)
	}
	p.NothingLeft()
}

// TestNoPodman: neither a podman command nor, in the runtime folder, a socket of one that runs.
func TestNoPodman(t *testing.T) {
	p := rig.NewProject(t, rig.SayCases("a"))
	p.Env = append(p.Env, "PATH="+t.TempDir(), "XDG_RUNTIME_DIR="+t.TempDir())
	setUpFails(p, "install Podman 4.3.0 or later")
}

func TestOldPodman(t *testing.T) {
	p := rig.NewProject(t, rig.SayCases("a"))
	l, err := net.Listen("unix", p.Path("old.sock"))
	if err != nil {
		t.Fatal(err)
	}
	// What Podman 3.4 answers to the question that every client begins with.
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Libpod-API-Version", "3.4.4")
		w.Write([]byte("OK"))
	}))
	t.Cleanup(func() { l.Close() })
	p.Env = append(p.Env, "CONTAINER_HOST=unix://"+p.Path("old.sock"))
	setUpFails(p, "berth needs Podman 4.3.0 or later")
}

func TestImageMissing(t *testing.T) {
	p := rig.NewProject(t, rig.SayCases("a"))
	p.Options = slices.DeleteFunc(p.Options, func(o string) bool { return strings.HasPrefix(o, "image=") })
	p.Options = append(p.Options, "image=localhost/berth-e2e:none")
	setUpFails(p, "the engine doesn't have localhost/berth-e2e:none", "berth runner setup podman")
}

// TestNoSubordinateIDs runs berth where this user has none, with a Podman that was never started there.
func TestNoSubordinateIDs(t *testing.T) {
	p := rig.NewProject(t, rig.SayCases("a"))
	for _, dir := range []string{"home", "run"} {
		if err := os.Mkdir(p.Path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.Env = append(p.Env, "HOME="+p.Path("home"), "XDG_RUNTIME_DIR="+p.Path("run"))
	p.InNamespaces(`mount --bind /dev/null /etc/subuid; mount --bind /dev/null /etc/subgid`)
	setUpFails(p, "usermod --add-subuids")
}

// TestLimits: a limit that isn't in force ends the run, unless the user allows that; then the run's
// record says so.
func TestLimits(t *testing.T) {
	p := rig.NewProject(t, rig.SayCases("a"))
	bestEffort := func(o string) bool { return o == "limits=best-effort" }
	strict := slices.DeleteFunc(slices.Clone(p.Options), bestEffort)
	lax := append(slices.Clone(strict), "limits=best-effort")

	p.Options = strict
	r := p.Rehearse(rig.Echo)
	if p.Limits {
		r.Expect(t, 0)
	} else {
		r.Expect(t, 3, "limits_not_enforced: the engine doesn't apply ", "memory", "limits=best-effort")
		r.Missing(t, "a", "limits_not_enforced")
	}

	p.Options = lax
	r = p.Rehearse(rig.Echo)
	r.Expect(t, 0)
	rec := r.Record(t).Runner
	if rec.LimitsMode != "best-effort" || slices.Contains(rec.NotEnforced, "memory") == p.Limits {
		t.Errorf("recorded: %s, not enforced %v", rec.LimitsMode, rec.NotEnforced)
	}
	p.NothingLeft()
}
