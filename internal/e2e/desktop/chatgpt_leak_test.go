package desktop

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/leak"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/oci"
)

// bearerPlaces are where a server's bearer may be while its shard is up: the worker's file, and the
// environment of the app with what that starts.
var bearerPlaces = regexp.MustCompile(`^(shard: /run/berth: tokens/servers/wiki|process \d+ (chatgpt|chromium|chrome_crashpad|codex)\S*: environ)$`)

// TestChatGPTNoLeak is TestNoLeak for the desktop app, whose profile, keyring and windows are in the
// shard's memory, and which is handed the bearer of an MCP server besides.
func TestChatGPTNoLeak(t *testing.T) {
	p := newChatGPT(t, testrig.Suites[0], []rig.Object{rig.Says("held"), {"id": "prints", "input": "print it"}}, func(eval rig.Object) {
		eval["servers"] = rig.Object{"wiki": rig.Object{
			"transport": "http", "serverUrl": "http://" + wikiAddr + "/eval", "auth": rig.Object{"accessTokenEnv": "WIKI"},
		}}
		// A profile goes with its batch, so the second one's has nothing that the first one printed.
		eval["variants"] = []rig.Object{{"name": "classic", "model": rig.Classic}, {"name": "code", "model": rig.CodeMode, "inputTemplate": "{{input}}, and code"}}
	})
	p.UseImage(withWiki(t, desktopImage(t, testrig.Suites[0])))
	p.Options = append(p.Options, "network=none") // its server is in there
	bearer := "wiki-" + rand.Text()
	g := p.NewGate(rig.Printing)
	token, err := g.Token.Current()
	if err != nil {
		t.Fatal(err)
	}
	held := g.Hold("say held, and code")
	c := p.Start("--secrets-file", p.Write("secrets.env", "WIKI="+bearer+"\n"))
	held.Await(t)

	runID, up := p.Running()
	secrets := []leak.Secret{{Name: "the token", Value: token}, {Name: "the bearer", Value: bearer}}
	s := leak.New(secrets...)
	if err := s.Container(t.Context(), up[0].ID); err != nil {
		t.Fatal(err)
	}
	p.LookAround(s, c, g, runner.CredentialFile)
	checkBearer(p, s.Found())
	checkItself(p, up[0])
	rig.WantLooked(t, s, "container inspect", rig.Legal, "shard: /home/berth: .local/share/keyrings/login.keyring",
		"shard: /home/berth: app/.codex/config.toml", "shard: /home/berth: app/.config/ChatGPT/", "shard: /tmp: ",
		"engine: containers: ", "process ", "run: run.json", "stderr", "gateway")

	close(held.Release)
	r := c.Wait()
	r.Expect(t, 0)
	rig.CheckPrinted(t, g)
	after := leak.New(secrets...)
	if err := after.Engine(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.LookAround(after, c, g, runner.CredentialFile)
	after.Text("stdout", r.Stdout)
	if got := after.Found(); len(got) > 0 {
		t.Errorf("afterwards: found %v", got)
	}
	rig.WantLooked(t, after, "process ", "run: run.json", "run: traces/", "run: artifacts/", "run: report/data.js", "stdout", "stderr", "gateway")
	rig.CheckMasked(t, p, runID)
	p.NothingLeft()
}

// checkBearer checks what was found in the middle of a trial: the token in its file, and the bearer
// where an app must have it.
func checkBearer(p *rig.Project, found []leak.Finding) {
	p.T.Helper()
	want := leak.Finding{Place: rig.Legal, Secret: "the token", Form: redact.FormPlain}
	if !slices.Contains(found, want) {
		p.T.Errorf("not found: %v", want)
	}
	handed := false
	for _, f := range found {
		switch {
		case f == want:
		case f.Secret == "the bearer" && f.Form == redact.FormPlain && bearerPlaces.MatchString(f.Place):
			handed = true
		default:
			p.T.Errorf("found %v", f)
		}
	}
	if !handed {
		p.T.Error("the app has no bearer")
	}
}

// checkItself has a shard check itself while its desktop and its app run: what was in force before them
// still is.
func checkItself(p *rig.Project, s rig.Shard) {
	p.T.Helper()
	spec, err := oci.ShardSpec{}.Spec()
	if err != nil {
		p.T.Fatal(err)
	}
	expect, err := json.Marshal(selfcheck.FromSpec(spec, backends.NetworkNone))
	if err != nil {
		p.T.Fatal(err)
	}
	cmd := exec.Command("podman", "exec", "--interactive", s.ID, oci.WorkerPath, "selfcheck")
	cmd.Stdin = bytes.NewReader(expect)
	out, err := cmd.Output()
	if err != nil {
		p.T.Fatalf("%s: %v", cmd, err)
	}
	var report selfcheck.Report
	if err := json.Unmarshal(out, &report); err != nil {
		p.T.Fatal(err)
	}
	if missing := selfcheck.Missing(report.Protections); len(missing) > 0 || len(report.Protections) == 0 {
		p.T.Errorf("of %d protections these aren't in force: %v", len(report.Protections), missing)
	}
}
