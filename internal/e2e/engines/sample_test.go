package engines

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
)

// The sample eval, and the script that answers it.
var (
	sampleConfig = rig.InModule("testdata/sample/codex.json")
	sampleScript = rig.InModule("testdata/sample/script.json")
)

// runSample runs the sample and moves its results to a folder.
func runSample(t *testing.T, tools rig.Tools, results string) {
	p := tools.Project(t, nil)
	p.Config = absolute(t, sampleConfig)
	r := p.Run("--script", absolute(t, sampleScript))
	r.Expect(t, 0)
	p.NothingLeft()
	if err := os.Rename(r.Dir, results); err != nil {
		t.Fatal(err)
	}
}

// userSample has the user of `make test` run the sample on rootless Podman.
func userSample(t *testing.T, results string) {
	t.Helper()
	out, err := os.MkdirTemp("", "berth-sample-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(out) })
	if err := os.Chmod(out, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"runner", "setup", "podman", "--config", sampleConfig, "--runner-option", "overlay=" + rig.InModule("bin/overlay"), "--name", rig.Image},
		{"run", "--runner", "podman", "--config", sampleConfig, "--script", sampleScript, "--output-dir", out,
			"--runner-option", "image=" + rig.Image, "--runner-option", "limits=best-effort"},
	} {
		cmd := exec.Command(rig.InModule("scripts/rootless"), append([]string{rig.InModule("bin/berth")}, args...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, text)
		}
	}
	runs, err := filepath.Glob(filepath.Join(out, "runs/*"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("runs %v, %v", runs, err)
	}
	if err := os.CopyFS(results, os.DirFS(runs[0])); err != nil {
		t.Fatal(err)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// difference is a field that two runs of an eval may have different values in, and why.
type difference struct {
	path *regexp.Regexp // of a field's path without the numbers of lists
	why  string
}

// ending matches paths by their ends.
func ending(pattern string) *regexp.Regexp { return regexp.MustCompile(`(` + pattern + `)$`) }

// mayDiffer is all that an engine may change of a run's results.
var mayDiffer = []difference{
	{ending(`\.(\w*[dD]urationMs|elapsedMs|duration_ms|time\w*Ms|time_to_first_token_ms)`), "how long something took"},
	{ending(`\.(steps|stepsMs)\.[\w.]+`), "how long something took"},
	{ending(`\.(started_at|completed_at)(_ms)?|\.create_time|\.duration\.(secs|nanos)`), "when something was"},
	{ending(`\.process_id`), "Codex's own number for a command"},
	{ending(`\.ordinal`), "the number of a rollout's line: lines are compared in whatever order they came"},
	{ending(`\.(artifacts\[\]|evidence)\.(bytes|sha256)`), "of a file with ids and times in it"},
	{ending(`\.environment\.name|\.runner\.(name|engine\.\w+)`), "the runner's facts"},
	{ending(`\.runner\.notEnforced.*|\.runner\.limitsMode|\.environment\.options\.limits`), "the runner's facts: limits that the engine can't apply"},
	{ending(`\.shards\[\]\.container`), "an id"},
}

// builtApart is for images of two builds.
var builtApart = []difference{{ending(`\.image\.digest`), "each build of Debian's root file system has files of its own day"}}

// ids are texts that name one run, one trial or one moment, wherever they stand.
var ids = regexp.MustCompile(strings.Join([]string{
	`\d{8}T\d{6}Z-[0-9a-f]{6}`,                           // a run
	`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`,          // Codex's sessions and turns
	`\b(call|resp|msg)_[0-9a-f]+_\d+`,                    // the gateway's answers
	`\b(batch|trial)-\d+`,                                // folders in a shard
	`-\d{6,10}/matched`,                                  // a trial's folder among the artifacts
	`\d{4}-\d\d-\d\d[T ]\d\d[:-]\d\d([:-]\d\d(\.\d+)?)?`, // a moment
	`Wall time:? [\d.]+|Chunk ID: [0-9a-f]+`,             // of a command, as Codex tells it
}, "|"))

// same compares two runs' folders, file by file and field by field.
func same(t *testing.T, one, other string, may []difference) {
	t.Helper()
	a, b := fields(t, one), fields(t, other)
	if len(a) < 1000 {
		t.Fatalf("only %d fields were read", len(a))
	}
	used := map[*regexp.Regexp]bool{}
	for _, path := range slices.Sorted(func(yield func(string) bool) {
		for path := range a {
			if !yield(path) {
				return
			}
		}
		for path := range b {
			if _, both := a[path]; !both && !yield(path) {
				return
			}
		}
	}) {
		if a[path] == b[path] {
			continue
		}
		if d := allowed(path, may); d != nil {
			used[d] = true
			continue
		}
		t.Errorf("%s: %s on one, %s on the other", path, a[path], b[path])
	}
	for _, d := range may {
		if !used[d.path] {
			t.Logf("%s (%s) was the same", d.path, d.why)
		}
	}
}

var index = regexp.MustCompile(`\[\d+\]`)

// allowed gives the path of the difference that a field's belongs to.
func allowed(path string, may []difference) *regexp.Regexp {
	path = index.ReplaceAllString(path, "[]")
	for _, d := range may {
		if d.path.MatchString(path) {
			return d.path
		}
	}
	return nil
}

// fields reads all files of a folder, as texts by FILE:PATH, with every id masked.
func fields(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return read(ids.ReplaceAllString(rel, "*"), body, all)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// took is how a page tells how long something took; facts are the runner's, which are among the fields of
// its data, too.
var (
	took  = regexp.MustCompile(`\b[\d.]+ (ms|s|min)\b`)
	facts = regexp.MustCompile(`(<dt>(?:Engine|Image digest|Limits)</dt>)<dd>[^<]*|<p class="note">Not in force on this host: [^<]*</p>`)
)

func read(name string, body []byte, all map[string]string) error {
	switch filepath.Ext(name) {
	case ".json":
		return flatten(name+":", body, all)
	case ".jsonl":
		lines := strings.Split(strings.TrimSpace(string(body)), "\n")
		if strings.Contains(name, "-rollout-") {
			if err := settle(lines); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		for i, line := range lines {
			if err := flatten(fmt.Sprintf("%s:[%d]", name, i), []byte(line), all); err != nil {
				return err
			}
		}
	case ".js":
		_, data, _ := strings.Cut(string(body), "=")
		return flatten(name+":", []byte(strings.TrimRight(strings.TrimSpace(data), ";")), all)
	case ".html":
		text := facts.ReplaceAllString(string(body), "$1")
		for i, line := range strings.Split(strings.ReplaceAll(text, "><", ">\n<"), "\n") {
			all[fmt.Sprintf("%s:[%d]", name, i)] = took.ReplaceAllString(ids.ReplaceAllString(line, "*"), "")
		}
	default:
		all[name] = ids.ReplaceAllString(string(body), "*")
	}
	return nil
}

// settle sorts the lines of a rollout by what may not differ in them: Codex does several things at once, and
// writes of each when it comes to it.
func settle(lines []string) error {
	keys := map[string]string{}
	for _, line := range lines {
		said := map[string]string{}
		if err := flatten("", []byte(line), said); err != nil {
			return err
		}
		maps.DeleteFunc(said, func(path, _ string) bool { return path == ".timestamp" || allowed(path, mayDiffer) != nil })
		key, err := json.Marshal(said) // with its keys in order
		if err != nil {
			return err
		}
		keys[line] = string(key)
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(keys[a], keys[b]) })
	return nil
}

func flatten(name string, body []byte, all map[string]string) error {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	walk(name, v, all)
	return nil
}

func walk(path string, v any, all map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			walk(path+"."+k, x, all)
		}
	case []any:
		for i, x := range v {
			walk(fmt.Sprintf("%s[%d]", path, i), x, all)
		}
	default:
		all[path] = ids.ReplaceAllString(fmt.Sprint(v), "*")
	}
}
