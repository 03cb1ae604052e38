package layers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the module's own.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func rules(t *testing.T) map[string]Rule {
	t.Helper()
	r, err := Rules(root(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(r) == 0 {
		t.Fatalf("%s has no depguard rules", ConfigFile)
	}
	return r
}

func TestNothingImportsUpwards(t *testing.T) {
	broken, err := Check(root(t), rules(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Error(b)
	}
}

// plant writes a file that imports pkg to where a rule's pattern points, and gives that place.
func plant(t *testing.T, dir, pattern, pkg string) string {
	t.Helper()
	name := strings.NewReplacer("${config-path}/", "", "$all", "internal/planted/x.go", "**", "planted/x.go", "*.go", "x.go").Replace(pattern)
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, "package x\n\nimport _ %q\n", pkg), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// Every package that a rule denies is planted in every place the rule guards, one at a time.
func TestPlantedViolationIsCaught(t *testing.T) {
	all := rules(t)
	for name, rule := range all {
		for _, pattern := range rule.Files {
			if strings.HasPrefix(pattern, "!") {
				continue
			}
			for _, deny := range rule.Deny {
				t.Run(name+"/"+pattern+"/"+deny.Pkg, func(t *testing.T) {
					dir := t.TempDir()
					where := plant(t, dir, pattern, deny.Pkg)
					broken, err := Check(dir, all)
					if err != nil {
						t.Fatal(err)
					}
					want := fmt.Sprintf("%s:3: import '%s' is not allowed from list '%s': %s", where, deny.Pkg, name, deny.Desc)
					if !strings.Contains(strings.Join(broken, "\n"), want) {
						t.Errorf("found %q, want %q", broken, want)
					}
				})
			}
		}
	}
}

// The strict rules deny what they don't allow, which the test above has no list of.
func TestOCIImportsNothingElse(t *testing.T) {
	for _, pkg := range []string{
		"github.com/berth-run/berth/internal/code", "github.com/moby/profiles/seccomp", "github.com/containers/podman/v5/pkg/bindings",
	} {
		dir := t.TempDir()
		plant(t, dir, "oci/*.go", pkg)
		if broken, err := Check(dir, rules(t)); err != nil || len(broken) == 0 {
			t.Errorf("oci importing %s: found %q, %v", pkg, broken, err)
		}
	}
}

// golangci-lint itself catches a planted violation, by the same file.
func TestLinterCatchesPlantedViolation(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module with the linter; not in -short")
	}
	linter := installed()
	if linter == "" {
		t.Skip("golangci-lint isn't installed: `make lint` does it")
	}
	dir := t.TempDir()
	config, err := os.ReadFile(filepath.Join(root(t), ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(ConfigFile, string(config))
	write("go.mod", "module github.com/berth-run/berth\n\ngo 1.26\n")
	write("backends/backends.go", "// Package backends is a stand-in.\npackage backends\n")
	write("session/session.go", "// Package session is a stand-in.\npackage session\n\nimport _ \"github.com/berth-run/berth/backends\" // planted\n")
	cmd := exec.Command(linter, "run", "--enable-only=depguard", "./...")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the session is the same on every engine") {
		t.Errorf("golangci-lint: %v\n%s", err, out)
	}
}

// installed finds golangci-lint on the PATH or where the Makefile puts it.
func installed() string {
	if p, err := exec.LookPath("golangci-lint"); err == nil {
		return p
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	found, _ := filepath.Glob(filepath.Join(cache, "berth-tools", "golangci-lint-*", "golangci-lint"))
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}
