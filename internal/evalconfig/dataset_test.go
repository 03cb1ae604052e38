package evalconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDatasetProblems(t *testing.T) {
	in := func(c string) string { return "{\"name\": \"d\", \"cases\": [\n" + c + "\n]}" }
	with := func(a string) string { return in(`{"id": "a", "input": "x", "assertions": {` + a + `}}`) }
	for name, tc := range map[string]struct {
		dataset, want string
	}{
		"empty prompt":         {in(`{"id": "a", "input": " \n"}`), `:2:22: input is empty`},
		"no input":             {in(`{"id": "a"}`), `a case needs "input"`},
		"empty id":             {in(`{"id": "", "input": "x"}`), `id is empty`},
		"scenario":             {in(`{"id": "a", "scenario": "x"}`), `"scenario" is an old name; write "input"`},
		"unknown key":          {in(`{"id": "a", "input": "x", "tag": []}`), `did you mean "tags"?`},
		"no cases":             {`{"name": "d", "cases": []}`, `cases is empty`},
		"same id":              {in("{\"id\": \"a\", \"input\": \"x\"},\n{\"id\": \"A\", \"input\": \"x\"}"), `cases.json:3:1: case id "A" is taken by "a" at `},
		"same id says both":    {in("{\"id\": \"a\", \"input\": \"x\"},\n{\"id\": \"a\", \"input\": \"x\"}"), `cases.json:2:1; ids name files`},
		"passesJudge":          {with(`"passesJudge": {}`), `judges have moved`},
		"bad pattern":          {with(`"matchesPattern": "("`), `isn't a regular expression`},
		"no pattern":           {with(`"matchesPattern": []`), `matchesPattern is empty`},
		"bad argument pattern": {with(`"toolsTriggered": {"calls": [{"name": "t", "arguments": {"q": [{"$pattern": "("}]}}]}`), `$pattern isn't a regular expression`},
		"no calls":             {with(`"toolsTriggered": {"calls": []}`), `calls is empty`},
		"bad order":            {with(`"toolsTriggered": {"calls": [{"name": "t"}], "order": "loose"}`), `must be one of strict, any`},
		"exact and min":        {with(`"toolCallCount": {"exact": 1, "min": 1}`), `exact beside min or max`},
		"min above max":        {with(`"toolCallCount": {"min": 3, "max": 1}`), `min 3 above max 1`},
		"negative":             {with(`"toolCallCount": {"min": -1}`), `min is -1; it must be a whole number of at least 0`},
		"other model":          {in(`{"id": "a", "input": "x", "model": "n"}`), `sets another model than variant "default"`},
		"other options":        {in(`{"id": "a", "input": "x", "clientOptions": {"timeout": 1}}`), `another set of clientOptions`},
		"judges":               {in(`{"id": "a", "input": "x", "judges": ["rubric"]}`), `berth runs no judges`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := resolve(t, head+`}`, map[string]string{"cases.json": tc.dataset}, ResolveOptions{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want …%s…", err, tc.want)
			}
			if !strings.Contains(err.Error(), "cases.json:") {
				t.Errorf("%v doesn't name the file", err)
			}
		})
	}
}

func TestSameIDInTwoFiles(t *testing.T) {
	_, err := resolve(t, `{"name": "e", "datasets": ["cases.json", "b.json"], "client": "chatgpt", "model": "m"}`,
		map[string]string{"b.json": `{"name": "b", "cases": [{"id": "A", "input": "x"}]}`}, ResolveOptions{})
	if err == nil || !strings.Contains(err.Error(), "b.json:1:25: case id") || !strings.Contains(err.Error(), "cases.json:1:25") {
		t.Errorf("got %v", err)
	}
}

func TestDirDataset(t *testing.T) {
	files := map[string]string{
		"d/b.json":     `{"name": "b", "cases": [{"id": "b1", "input": "x"}]}`,
		"d/a.json":     `{"name": "a", "cases": [{"id": "a1", "input": "x"}]}`,
		"d/sub/c.json": `{"name": "c", "cases": [{"id": "c1", "input": "x"}]}`,
		"d/notes.txt":  `not a dataset`,
		"empty/x.txt":  ``,
	}
	ids := func(source string) ([]string, error) {
		e, err := resolve(t, `{"name": "e", "datasets": [`+source+`], "client": "chatgpt", "model": "m"}`, files, ResolveOptions{})
		if err != nil {
			return nil, err
		}
		var out []string
		for _, c := range e.Cases {
			out = append(out, c.Dataset+"/"+c.ID)
		}
		return out, nil
	}
	for source, want := range map[string][]string{
		`{"type": "dir", "path": "d"}`:                       {"d/a1", "d/b1"},
		`{"type": "dir", "path": "./d/", "recursive": true}`: {"d/a1", "d/b1", "d/c1"},
	} {
		got, err := ids(source)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", source, err, diff)
		}
	}
	for _, bad := range []string{`{"type": "dir", "path": "nope"}`, `{"type": "dir", "path": "empty"}`} {
		if _, err := ids(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestDirDatasetBehindALink(t *testing.T) {
	dir := write(t, map[string]string{
		"eval.json":   `{"name": "e", "datasets": [{"type": "dir", "path": "link"}], "client": "chatgpt", "model": "m"}`,
		"real/a.json": oneCase,
	})
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(filepath.Join(dir, "eval.json"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := cfg.Resolve(ResolveOptions{})
	if err != nil || len(e.Cases) != 1 || e.Cases[0].Dataset != "link" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestRootDir(t *testing.T) {
	root := write(t, map[string]string{"far.json": oneCase})
	e, err := resolve(t, `{"name": "e", "datasets": ["far.json"], "client": "chatgpt", "model": "m"}`, nil, ResolveOptions{RootDir: root})
	if err != nil || len(e.Cases) != 1 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestSelection(t *testing.T) {
	config := `{"name": "e", "datasets": ["cases.json"], "client": "chatgpt", "model": "m", "trials": 2,
	  "variants": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}`
	cases := map[string]string{"cases.json": `{"name": "d", "cases": [
	  {"id": "1", "input": "x", "tags": ["slow"]}, {"id": "2", "input": "x", "tags": ["fast", "new"], "trials": 5},
	  {"id": "3", "input": "x"}, {"id": "4", "input": "x", "tags": ["slow"]}]}`}
	type got struct {
		Variants, Cases string
		Trials          int
		Baseline        string
	}
	for name, tc := range map[string]struct {
		sel  Selection
		want got
	}{
		"all":           {Selection{}, got{"a b c", "1 2 3 4", 11, "a"}},
		"file order":    {Selection{Variants: []string{"c", "b"}, Cases: []string{"3", "1"}}, got{"b c", "1 3", 4, ""}},
		"tags":          {Selection{FilterTags: []string{"slow", "new"}}, got{"a b c", "1 2 4", 9, "a"}},
		"max":           {Selection{MaxCases: 2}, got{"a b c", "1 2", 7, "a"}},
		"trials":        {Selection{Trials: 1}, got{"a b c", "1 2 3 4", 4, "a"}},
		"max after tag": {Selection{FilterTags: []string{"slow"}, MaxCases: 2}, got{"a b c", "1 4", 4, "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := resolve(t, config, cases, ResolveOptions{Selection: tc.sel})
			if err != nil {
				t.Fatal(err)
			}
			g := got{Baseline: e.Baseline}
			for _, v := range e.Variants {
				g.Variants += " " + v.Name
			}
			for _, c := range e.Cases {
				g.Cases += " " + c.ID
				g.Trials += c.Trials
			}
			g.Variants, g.Cases = strings.TrimSpace(g.Variants), strings.TrimSpace(g.Cases)
			if g != tc.want {
				t.Errorf("got %+v, want %+v", g, tc.want)
			}
			if tc.sel.Partial() != (name != "all") {
				t.Errorf("partial %v", tc.sel.Partial())
			}
		})
	}
	for name, sel := range map[string]Selection{
		"variant": {Variants: []string{"d"}}, "case": {Cases: []string{"9"}}, "tag": {FilterTags: []string{"none"}},
	} {
		if _, err := resolve(t, config, cases, ResolveOptions{Selection: sel}); !errors.Is(err, ErrSelection) {
			t.Errorf("no such %s: %v", name, err)
		}
	}
}

func TestNoGrade(t *testing.T) {
	config := `{"name": "e", "datasets": ["cases.json"], "client": "chatgpt", "model": "m", "judges": ["rubric"], "redactStoredResponses": false}`
	if _, err := resolve(t, config, nil, ResolveOptions{NoGrade: true}); err != nil {
		t.Error(err)
	}
	if _, err := resolve(t, head+`}`, nil, ResolveOptions{NoGrade: true}); err == nil || !strings.Contains(err.Error(), "redactStoredResponses") {
		t.Errorf("--no-grade of a redacted run: %v", err)
	}
}

func TestLoadWhatIsntThere(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "eval.json")} {
		if _, err := Load(path); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
