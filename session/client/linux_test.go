package client

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestRequireLinux: the build for darwin refuses, and that for Linux doesn't. No Mac is needed for that: the
// system is a constant of the build, so that the compiler leaves one of the two, and says which.
func TestRequireLinux(t *testing.T) {
	for _, tt := range []struct {
		system string
		refuse bool
	}{{"linux", false}, {"darwin", true}} {
		body := compiled(t, tt.system, ".RequireLinux STEXT")
		if got := strings.Contains(body, `go:string."linux_required"`); got != tt.refuse || body == "" {
			t.Errorf("on %s it refuses: %v, want %v:\n%s", tt.system, got, tt.refuse, body)
		}
	}
	if err := RequireLinux("test"); (err == nil) != (runtime.GOOS == "linux") {
		t.Errorf("on %s: %v", runtime.GOOS, err)
	}
}

// compiled is the code of this package's function that a line with head begins.
func compiled(t *testing.T, system, head string) string {
	t.Helper()
	cmd := exec.Command("go", "build", "-gcflags=-S", ".")
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, body, _ := strings.Cut(string(out), head)
	lines := strings.Split(body, "\n")
	for i, line := range lines {
		if i > 0 && !strings.HasPrefix(line, "\t") {
			return strings.Join(lines[:i], "\n")
		}
	}
	return body
}
