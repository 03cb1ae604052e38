package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/trace"
)

// render writes the page of f and gives it as a tree, as text, and its data.js.
func render(t *testing.T, f *results.Finished) (*html.Node, string, string) {
	t.Helper()
	path, err := Write(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(f.Dir, "report", "data.js"))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := html.Parse(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return tree, string(raw), string(data)
}

func each(n *html.Node, visit func(*html.Node)) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode {
			visit(d)
		}
	}
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && d.Parent.Data != "script" && d.Parent.Data != "style" {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func TestPage(t *testing.T) {
	tree, raw, _ := render(t, sample(t, false))
	shown := text(tree)
	for _, want := range []string{
		"Result", "Variants compared", "What differs", "Case by case", "Why trials failed",
		"8/14 passed (57.1%)", "with-wiki against plain: better", "gpt-6-luna", "1,020,123", "Not in force on this host: memory",
		`containsText: the answer doesn't contain "RB-17"`, "timeout: no answer within 300 s", "missing: the trial didn't come back",
		"RB-17, section 2", "podman 4.3.1, crun 1.8.1, rootless", "wiki.search",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page doesn't say %q", want)
		}
	}
	if strings.Contains(raw, "ZgotmplZ") {
		t.Error("the template blocked a value of its own")
	}
}

// Every link leads somewhere on the page, and nothing is loaded but data.js.
func TestPageStandsAlone(t *testing.T) {
	tree, _, _ := render(t, sample(t, false))
	ids := map[string]bool{}
	each(tree, func(n *html.Node) {
		if id := attr(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("id %s is there twice", id)
			}
			ids[id] = true
		}
	})
	links := 0
	each(tree, func(n *html.Node) {
		for _, key := range []string{"href", "src"} {
			switch v := attr(n, key); {
			case v == "" || v == "data.js" && n.Data == "script":
			case strings.HasPrefix(v, "#"):
				links++
				if !ids[v[1:]] {
					t.Errorf("%s leads nowhere", v)
				}
			default:
				t.Errorf("the page loads %s", v)
			}
		}
		for _, key := range []string{"aria-labelledby"} {
			if v := attr(n, key); v != "" && !ids[v] {
				t.Errorf("%s %s isn't there", key, v)
			}
		}
	})
	if links < 8 {
		t.Errorf("only %d links", links)
	}
}

// Whatever a config, a dataset, an app or a tool says stays text.
func TestHostileContent(t *testing.T) {
	const evil = `</script><img src=x onerror=alert(1)>"'` + "`" + `{{.}}--><style>*{display:none}</style>` + "\u2028javascript:alert(1)"
	f := sample(t, false)
	f.Record.EvalName, f.Summary.ConfigName, f.Record.RunID = evil, evil, evil
	f.Record.Baseline, f.Record.Runner.Image.Ref, f.Record.CreatedAt = evil, evil, evil
	f.Record.Variants[0].Description, f.Record.Variants[0].Name, f.Record.Variants[1].InputTemplate = evil, evil, evil
	f.Summary.Variants[0].Name, f.Summary.Variants[0].Model = evil, evil
	f.Summary.VariantDeltas[0].Variant, f.Summary.VariantDeltas[0].Paired.Verdict = evil, evil
	for i := range f.Cases {
		c := &f.Cases[i]
		key := f.Cases[i]
		c.Input, c.Tags, c.DatasetName = evil, []string{evil}, evil
		c.TrialResults[0].Error = evil
		c.TrialResults[0].Outcome, c.Outcome = evil, evil
		c.TrialResults[0].Assertions = map[string]results.ScoreBody{evil: {Message: evil}}
		for k, tr := range f.Trials {
			if k.CaseID == key.ID && tr.Trace != nil {
				tr.Trace.FinalText = evil
				tr.Trace.Events = []trace.Event{{Kind: evil, Name: evil, Server: evil, Arguments: json.RawMessage(`"` + "<img src=x onerror=1>" + `"`), Output: json.RawMessage(`"</pre><script>1</script>"`)}}
			}
		}
	}
	tree, _, data := render(t, f)
	scripts, styles := 0, 0
	each(tree, func(n *html.Node) {
		switch n.Data {
		case "script":
			scripts++
		case "style":
			styles++
		case "img", "iframe", "object", "link", "base", "form":
			t.Errorf("there is a <%s>", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s> has %s", n.Data, a.Key)
			}
		}
	})
	if scripts != 2 || styles != 1 {
		t.Errorf("%d scripts and %d styles, not 2 and 1", scripts, styles)
	}
	if !strings.Contains(text(tree), `</script><img src=x onerror=alert(1)>`) {
		t.Error("the text itself isn't shown")
	}
	if strings.ContainsAny(data, "<>\u2028") {
		t.Error("data.js has a character that can end a script")
	}
	body := strings.TrimSuffix(strings.TrimPrefix(data, "window.BERTH_RUN = "), ";\n")
	if !json.Valid([]byte(body)) {
		t.Error("data.js isn't an assignment of JSON")
	}
}

func TestRedactedPage(t *testing.T) {
	tree, raw, data := render(t, sample(t, true))
	if strings.Contains(raw+data, "RB-17, section 2") || strings.Contains(raw+data, `["RB-17"]`) {
		t.Error("a redacted run's page shows an answer or an output")
	}
	if !strings.Contains(text(tree), "responses redacted") {
		t.Error("the page doesn't say that it's redacted")
	}
}
