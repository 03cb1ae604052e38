package e2e

import (
	"crypto/rand"
	"fmt"
	"slices"
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/leak"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/runner"
)

// TestNoLeak runs an eval whose agents print their token, and looks for it everywhere: with a trial
// in the middle, and when all is over. Package leak's own tests show that it would be found.
func TestNoLeak(t *testing.T) {
	for _, mode := range []string{runner.CredentialFile, runner.CredentialBroker} {
		t.Run(mode, func(t *testing.T) { noLeak(t, mode) })
	}
}

func noLeak(t *testing.T, mode string) {
	p := rig.NewProject(t, []rig.Object{{"id": "prints", "input": "print it"}, rig.Says("held")}, func(eval rig.Object) {
		eval["variants"] = []rig.Object{{"name": "classic", "model": rig.Classic}, {"name": "code", "model": rig.CodeMode, "inputTemplate": "{{input}}, and code"}}
	})
	p.Options = append(p.Options, "credential="+mode)
	g := p.NewGate(rig.Printing)
	token, err := g.Token.Current()
	if err != nil {
		t.Fatal(err)
	}
	held := g.Hold("say held, and code") // the last trial
	c := p.Start()
	held.Await(t)

	runID, up := p.Running()
	if len(up) != 1 {
		t.Fatalf("shards %v", up)
	}
	secrets := []leak.Secret{{Name: "the token", Value: token}}
	want := []leak.Finding{{Place: rig.Legal, Secret: "the token", Form: redact.FormPlain}}
	if mode == runner.CredentialBroker {
		ticket := rig.PodmanDo(t, "exec", up[0].ID, "cat", rig.TokenFile)
		secrets = append(secrets, leak.Secret{Name: "the ticket", Value: ticket})
		want = []leak.Finding{{Place: rig.Legal, Secret: "the ticket", Form: redact.FormPlain}}
	}
	s := leak.New(secrets...)
	if err := s.Container(t.Context(), up[0].ID); err != nil {
		t.Fatal(err)
	}
	if mode == runner.CredentialFile { // the image is the same
		if err := s.Image(t.Context(), rig.Image); err != nil {
			t.Fatal(err)
		}
		rig.WantLooked(t, s, "image inspect", "image: ")
	}
	p.LookAround(s, c, g, mode)
	if got := s.Found(); !slices.Equal(got, want) {
		t.Errorf("in the middle: found %v, want %v", got, want)
	}
	rig.WantLooked(t, s, "container inspect", rig.Legal, "shard: /home/berth: ", "shard: /tmp: ",
		"engine: containers: ", "engine: database: ", fmt.Sprintf("process %d berth: environ", c.Cmd.Process.Pid),
		"run: run.json", "stderr", "gateway")

	close(held.Release)
	r := c.Wait()
	r.Expect(t, 0)
	if mode == runner.CredentialFile { // the gateway knows no ticket
		rig.CheckPrinted(t, g)
	}
	after := leak.New(secrets...)
	if err := after.Engine(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.LookAround(after, c, g, mode)
	after.Text("stdout", r.Stdout)
	if got := after.Found(); len(got) > 0 {
		t.Errorf("afterwards: found %v", got)
	}
	rig.WantLooked(t, after, "engine: database: ", "process ", "run: run.json", "run: traces/", "run: artifacts/", "run: results.json",
		"run: summary.json", "run: report/index.html", "run: report/data.js", "stdout", "stderr", "gateway")
	rig.CheckMasked(t, p, runID)
}

// TestServerTokenWithNoServer hands a bearer to a shard whose MCP server doesn't answer: the way of
// an error is no way out for it either.
func TestServerTokenWithNoServer(t *testing.T) {
	p := rig.NewProject(t, rig.SayCases("a"), func(eval rig.Object) {
		eval["servers"] = rig.Object{"wiki": rig.Object{
			"transport": "http", "serverUrl": "http://127.0.0.1:9/eval", "auth": rig.Object{"accessTokenEnv": "WIKI"},
		}}
	})
	bearer := "wiki-" + rand.Text()
	g := p.NewGate(rig.Echo)
	c := p.Start("--secrets-file", p.Write("secrets.env", "WIKI="+bearer+"\n"))
	r := c.Wait()
	r.Expect(t, 4, "wiki")
	s := leak.New(leak.Secret{Name: "the bearer", Value: bearer})
	if err := s.Engine(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.LookAround(s, c, g, runner.CredentialFile)
	s.Text("stdout", r.Stdout)
	if got := s.Found(); len(got) > 0 {
		t.Errorf("found %v", got)
	}
}

// TestKeyInEnvironment: a key that the user has exported is in berth's own environment and in that
// of nothing that berth starts.
func TestKeyInEnvironment(t *testing.T) {
	p := rig.NewProject(t, rig.SayCases("held"))
	g := p.NewGate(rig.Echo)
	key, err := g.Token.Current()
	if err != nil {
		t.Fatal(err)
	}
	p.Env = []string{"OPENAI_BASE_URL=" + g.URL + "/v1", "OPENAI_API_KEY=" + key}
	held := g.Hold("say held")
	c := p.Start()
	held.Await(t)
	_, up := p.Running()
	s := leak.New(leak.Secret{Name: "the key", Value: key})
	if err := s.Container(t.Context(), up[0].ID); err != nil {
		t.Fatal(err)
	}
	p.LookAround(s, c, g, runner.CredentialFile)
	want := []leak.Finding{
		{Place: fmt.Sprintf("process %d berth: environ", c.Cmd.Process.Pid), Secret: "the key", Form: redact.FormPlain},
		{Place: rig.Legal, Secret: "the key", Form: redact.FormPlain},
	}
	if got := s.Found(); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	rig.WantLooked(t, s, "process ", "container inspect")
	close(held.Release)
	c.Wait().Expect(t, 0)
}
