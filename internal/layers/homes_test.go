package layers

import (
	"os"
	"os/exec"
	"path/filepath"
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
