package layers

import (
	"fmt"
	"os"
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
					pkg := strings.TrimSuffix(deny.Pkg, "$") // depguard's mark of a whole name
					where := plant(t, dir, pattern, pkg)
					broken, err := Check(dir, all)
					if err != nil {
						t.Fatal(err)
					}
					want := fmt.Sprintf("%s:3: import '%s' is not allowed from list '%s': %s", where, pkg, name, deny.Desc)
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
