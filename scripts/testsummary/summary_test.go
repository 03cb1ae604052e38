package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/code"
)

// summarize runs the real `go test -json` over a module made of files, and reads what it says.
func summarize(t *testing.T, files map[string]string) (summary, string) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module m\n\ngo 1.24\n"
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-json", "-count=1", "./...")
	cmd.Dir = dir
	events, err := cmd.Output() // its status is not what is tested
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s, err := read(bytes.NewReader(events), &out)
	if err != nil {
		t.Fatal(err)
	}
	s.print(&out)
	return s, out.String()
}

func TestSummary(t *testing.T) {
	const head = "package p\nimport \"testing\"\n"
	cases := []struct {
		name                    string
		files                   map[string]string
		passed, failed, skipped int
		says                    []string
	}{
		{"passes and skips", map[string]string{
			"a/a_test.go": head + `func TestA(t *testing.T) { t.Run("x", func(t *testing.T) {}); t.Run("y", func(t *testing.T) { t.Skip("needs an engine") }) }
func TestB(t *testing.T) {}`,
			"b/b.go": "package b",
		}, 2, 0, 1, []string{"a.TestA/y: needs an engine", "\n2 passed, 0 failed, 1 skipped\n"}},
		{"a subtest's failure counts once, with its output", map[string]string{
			"a/a_test.go": head + `func TestA(t *testing.T) { t.Run("x", func(t *testing.T) { t.Error("wanted 4") }); t.Run("y", func(t *testing.T) {}) }`,
		}, 1, 1, 0, []string{"--- a.TestA/x\n", "wanted 4", "\n1 passed, 1 failed, 0 skipped\n"}},
		{"a parent that fails by itself counts", map[string]string{
			"a/a_test.go": head + `func TestA(t *testing.T) { t.Run("x", func(t *testing.T) {}); t.Error("afterwards") }`,
		}, 1, 1, 0, []string{"--- a.TestA\n", "afterwards"}},
		{"a package that doesn't build", map[string]string{
			"a/a_test.go": head + `func TestA(t *testing.T) { nothing() }`,
			"b/b_test.go": head + `func TestB(t *testing.T) {}`,
		}, 1, 1, 0, []string{"--- m/a\n", "undefined: nothing"}},
		{"a package that ends in the middle of a test", map[string]string{
			"a/a_test.go": "package p\nimport (\"os\"; \"testing\")\n" + `func TestA(t *testing.T) {}
func TestB(t *testing.T) { os.Exit(3) }`,
		}, 1, 1, 0, []string{"a.TestB"}},
		{"a panic", map[string]string{
			"a/a_test.go": head + `func TestA(t *testing.T) { panic("broken") }`,
		}, 0, 1, 0, []string{"broken"}},
		{"nothing", map[string]string{"a/a.go": "package a"}, 0, 0, 0, []string{"\n0 passed, 0 failed, 0 skipped\n"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, out := summarize(t, c.files)
			if s.passed != c.passed || s.failed != c.failed || s.skipped() != c.skipped {
				t.Errorf("counts = %s, want %s", counts(s.passed, s.failed, s.skipped()), counts(c.passed, c.failed, c.skipped))
			}
			for _, want := range c.says {
				if !strings.Contains(out, want) {
					t.Errorf("output lacks %q:\n%s", want, out)
				}
			}
		})
	}
}

func TestReadPassesOnOtherLines(t *testing.T) {
	var out bytes.Buffer
	s, err := read(strings.NewReader("go: no such tool\n{\"Action\":\"start\",\"Package\":\"m/a\"}\n{\"Action\":\"run\",\"Package\":\"m/a\",\"Test\":\"TestA\"}\n"), &out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "go: no such tool\n") {
		t.Errorf("output = %q", out.String())
	}
	if s.failed != 1 {
		t.Errorf("failed = %d, want 1: go test ended while TestA ran", s.failed)
	}
}

func TestSlowest(t *testing.T) {
	s := summary{timings: []timing{{"a", 1.5}, {"b", 0.9}, {"c", 30}, {"d", 2}}}
	if got := s.slowest(2); !slices.Equal(got, []timing{{"c", 30}, {"d", 2}}) {
		t.Errorf("got %v", got)
	}
	if got := s.slowest(9); len(got) != 3 {
		t.Errorf("got %v, want those of a second and more", got)
	}
}

// TestCodes: a code counts when a test that passed has brought it about; the contract's must have come.
func TestCodes(t *testing.T) {
	const head = "package p\nimport \"testing\"\n"
	s, out := summarize(t, map[string]string{"a/a_test.go": head + `
func TestA(t *testing.T) { t.Run("x", func(t *testing.T) { t.Log("produced the code timeout") }) }
func TestB(t *testing.T) { t.Log("produced the code parse_failure"); t.Fail() }`})
	if !strings.Contains(out, "timeout                          a.TestA/x\n") {
		t.Errorf("no list of codes in:\n%s", out)
	}
	before := s.failed
	s.wantCodes()
	if got, want := s.failed-before, len(code.Contract)-len(code.Unreachable)-1; got != want {
		t.Errorf("%d codes are missing, want %d", got, want)
	}
}

func TestSuites(t *testing.T) {
	_, out := summarize(t, map[string]string{"a/a_test.go": `package p
import "testing"
func TestSuite(t *testing.T) { t.Run("on", func(t *testing.T) {
	t.Log("conformance of b 1.2, rootless")
	t.Run("one", func(t *testing.T) { t.Run("part", func(t *testing.T) {}); t.Run("another", func(t *testing.T) { t.Skip("a part") }) })
	t.Run("two: x", func(t *testing.T) { t.Log("before"); t.Skip("no memory") })
	t.Run("three", func(t *testing.T) { t.Error("no") })
	t.Log("conformance leaves out 2: it has no y: four; five")
}) }
func TestOther(t *testing.T) { t.Log("conformance of b 1.1"); t.Run("one", func(t *testing.T) {}) }
func TestNone(t *testing.T) { t.Log("of conformance"); t.Run("one", func(t *testing.T) {}) }`})
	const want = `
Conformance of                             run  failed  skipped
  b 1.1                                      1       0        0
  b 1.2, rootless                            2       1        1
    skipped two: x: no memory
    left out 2: it has no y: four; five
`
	if !strings.Contains(out, want+"\n") {
		t.Errorf("output lacks %q:\n%s", want, out)
	}
}
