package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"github.com/berth-run/berth/backends"
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
	p := newChatGPT(t, testrig.Suites[0], []object{says("held"), {"id": "prints", "input": "print it"}}, func(eval object) {
		eval["servers"] = object{"wiki": object{
			"transport": "http", "serverUrl": "http://" + wikiAddr + "/eval", "auth": object{"accessTokenEnv": "WIKI"},
		}}
		// A profile goes with its batch, so the second one's has nothing that the first one printed.
		eval["variants"] = []object{{"name": "classic", "model": classic}, {"name": "code", "model": codeMode, "inputTemplate": "{{input}}, and code"}}
	})
	p.useImage(withWiki(t, desktopImage(t, testrig.Suites[0])))
	p.options = append(p.options, "network=none") // its server is in there
	bearer := "wiki-" + rand.Text()
	g := p.newGate(printing)
	token, err := g.token.Current()
	if err != nil {
		t.Fatal(err)
	}
	held := g.hold("say held, and code")
	c := p.start("--secrets-file", p.write("secrets.env", "WIKI="+bearer+"\n"))
	held.await(t)

	runID, up := p.running()
	secrets := []leak.Secret{{Name: "the token", Value: token}, {Name: "the bearer", Value: bearer}}
	s := leak.New(secrets...)
	if err := s.Container(t.Context(), up[0].ID); err != nil {
		t.Fatal(err)
	}
	p.lookAround(s, c, g, runner.CredentialFile)
	p.checkBearer(s.Found())
	p.checkItself(up[0])
	wantLooked(t, s, "container inspect", legal, "shard: /home/berth: .local/share/keyrings/login.keyring",
		"shard: /home/berth: app/.codex/config.toml", "shard: /home/berth: app/.config/ChatGPT/", "shard: /tmp: ",
		"engine: containers: ", "process ", "run: run.json", "stderr", "gateway")

	close(held.release)
	r := c.wait()
	r.expect(t, 0)
	checkPrinted(t, g)
	after := leak.New(secrets...)
	if err := after.Engine(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.lookAround(after, c, g, runner.CredentialFile)
	after.Text("stdout", r.stdout)
	if got := after.Found(); len(got) > 0 {
		t.Errorf("afterwards: found %v", got)
	}
	wantLooked(t, after, "process ", "run: run.json", "run: traces/", "run: artifacts/", "run: report/data.js", "stdout", "stderr", "gateway")
	checkMasked(t, p, runID)
	p.nothingLeft()
}

// checkBearer checks what was found in the middle of a trial: the token in its file, and the bearer
// where an app must have it.
func (p *project) checkBearer(found []leak.Finding) {
	p.t.Helper()
	want := leak.Finding{Place: legal, Secret: "the token", Form: redact.FormPlain}
	if !slices.Contains(found, want) {
		p.t.Errorf("not found: %v", want)
	}
	handed := false
	for _, f := range found {
		switch {
		case f == want:
		case f.Secret == "the bearer" && f.Form == redact.FormPlain && bearerPlaces.MatchString(f.Place):
			handed = true
		default:
			p.t.Errorf("found %v", f)
		}
	}
	if !handed {
		p.t.Error("the app has no bearer")
	}
}

// checkItself has a shard check itself while its desktop and its app run: what was in force before them
// still is.
func (p *project) checkItself(s shard) {
	p.t.Helper()
	spec, err := oci.ShardSpec{}.Spec()
	if err != nil {
		p.t.Fatal(err)
	}
	expect, err := json.Marshal(selfcheck.FromSpec(spec, backends.NetworkNone))
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command("podman", "exec", "--interactive", s.ID, oci.WorkerPath, "selfcheck")
	cmd.Stdin = bytes.NewReader(expect)
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%s: %v", cmd, err)
	}
	var report selfcheck.Report
	if err := json.Unmarshal(out, &report); err != nil {
		p.t.Fatal(err)
	}
	if missing := selfcheck.Missing(report.Protections); len(missing) > 0 || len(report.Protections) == 0 {
		p.t.Errorf("of %d protections these aren't in force: %v", len(report.Protections), missing)
	}
}
