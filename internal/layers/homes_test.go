package layers

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/architecture.md names a home for every package: its path from the module's root in backticks.
func TestEveryPackageHasAHome(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root(t), "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-e", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, pkg := range strings.Fields(string(out)) {
		home := strings.TrimPrefix(pkg, "github.com/berth-run/berth/")
		if !strings.Contains(string(doc), "`"+home+"`") {
			t.Errorf("docs/architecture.md doesn't name `%s`", home)
		}
	}
}

var inBackticks = regexp.MustCompile("`([^`]+)`")

// The rows of "Where to look" point to files, and to functions in the file before them.
func TestWhereToLookIsThere(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root(t), "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "## Where to look\n")
	section, _, _ = strings.Cut(section, "\n## ")
	checked := 0
	for row := range strings.Lines(section) {
		cells := strings.Split(row, "|")
		if len(cells) != 4 {
			continue
		}
		var file string
		for _, m := range inBackticks.FindAllStringSubmatch(cells[2], -1) {
			checked++
			if strings.Contains(m[1], "/") {
				file = filepath.Join(root(t), filepath.FromSlash(m[1]))
				if _, err := os.Stat(file); err != nil {
					t.Errorf("%s: %v", strings.TrimSpace(cells[1]), err)
				}
				continue
			}
			if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), ") "+m[1]+"(") {
				t.Errorf("%s: %s has no method %s", strings.TrimSpace(cells[1]), file, m[1])
			}
		}
	}
	if checked < 10 {
		t.Errorf("the section has %d places", checked)
	}
}
