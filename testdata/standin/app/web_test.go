package app

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/testdata/standin/scenario"
)

// served is a stage with a page address, and no browser.
func served(t *testing.T) (*stage, string) {
	t.Helper()
	s := newStage()
	s.journal = &journal{path: filepath.Join(t.TempDir(), "journal.jsonl")}
	s.start(scenario.Scenario{Splash: scenario.Splash{Until: scenario.Never}}, false)
	w, err := serve(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, w.address("")
}

func client(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

func get(t *testing.T, c *http.Client, address string) *http.Response {
	t.Helper()
	r, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	return r
}

// Only who comes with the key first gets in, and only under the server's own name.
func TestGuard(t *testing.T) {
	_, address := served(t)
	base, _, _ := strings.Cut(address, "?")
	for _, path := range []string{"", "?key=wrong", "labels.json", "views", "page.js?" + strings.Split(address, "?")[1]} {
		if r := get(t, client(t), base+path); r.StatusCode != http.StatusForbidden {
			t.Errorf("%q without the key: %s", path, r.Status)
		}
	}
	browser := client(t)
	r := get(t, browser, address)
	if body, _ := io.ReadAll(r.Body); r.StatusCode != http.StatusOK || !strings.Contains(string(body), "page.js") {
		t.Errorf("with the key: %s %s", r.Status, body)
	}
	if got := r.Header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'") {
		t.Errorf("policy %q", got)
	}
	for _, path := range []string{"", "page.js", "page.css", "labels.json"} {
		if r := get(t, browser, base+path); r.StatusCode != http.StatusOK {
			t.Errorf("%q with the cookie: %s", path, r.Status)
		}
	}
	if r := get(t, client(t), address); r.StatusCode != http.StatusForbidden {
		t.Errorf("the key again: %s", r.Status)
	}
	u, _ := url.Parse(base)
	rebound, _ := http.NewRequest(http.MethodGet, base, nil)
	rebound.Host = "elsewhere:" + u.Port()
	if r, err := browser.Do(rebound); err != nil || r.StatusCode != http.StatusForbidden {
		t.Errorf("by another name: %v %v", r, err)
	}
}

// The page gets the view, and each one that follows.
func TestViews(t *testing.T) {
	s, address := served(t)
	browser := client(t)
	get(t, browser, address)
	base, _, _ := strings.Cut(address, "?")
	lines := bufio.NewScanner(get(t, browser, base+"views").Body)
	for _, want := range []string{`"screen":"splash"`, `"screen":"main"`} {
		for lines.Scan() && lines.Text() == "" {
		}
		if !strings.Contains(lines.Text(), want) {
			t.Errorf("got %s, want %s", lines.Text(), want)
		}
		s.mu.Lock()
		s.showMain("", scenario.CrashNone)
		s.mu.Unlock()
	}
	if r, err := browser.Post(base+"events", "application/json", strings.NewReader("{")); err != nil || r.StatusCode != http.StatusBadRequest {
		t.Errorf("a broken event: %v %v", r, err)
	}
}

func TestRecorded(t *testing.T) {
	const text = "a_b `c` [d](e) *f*\\ #g <h>"
	for how, want := range map[scenario.Prompt]string{
		"": text, scenario.PromptExact: text, scenario.PromptNewline: text + "\n",
		scenario.PromptEscaped: "a\\_b \\`c\\` \\[d\\](e) \\*f\\*\\\\ \\#g \\<h\\>",
	} {
		if got := recorded(text, how); got != want {
			t.Errorf("%s: %q, want %q", how, got, want)
		}
	}
}
