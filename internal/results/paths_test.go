package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-run/berth/internal/shardproto"
)

// The wanted values are Node's encodeURIComponent, but for * and dots at the ends.
func TestSegment(t *testing.T) {
	for name, want := range map[string]string{
		"rb-001":      "rb-001",
		"a b/c:d":     "a%20b%2Fc%3Ad",
		"été ☃":       "%C3%A9t%C3%A9%20%E2%98%83",
		"100%":        "100%25",
		"a*b":         "a%2Ab",
		"(x)!~'_-.y":  "(x)!~'_-.y",
		"q?x=1&y#z":   "q%3Fx%3D1%26y%23z",
		"😀":           "%F0%9F%98%80",
		".":           "%2E",
		"..":          "%2E%2E",
		".hidden.":    "%2Ehidden%2E",
		"a.b":         "a.b",
		"../../etc":   "%2E.%2F..%2Fetc",
		"berth/x/y":   "berth%2Fx%2Fy",
		"new\nline\\": "new%0Aline%5C",
	} {
		if got := Segment(name); got != want {
			t.Errorf("Segment(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestLongSegment(t *testing.T) {
	if got := Segment(strings.Repeat("a", 200)); got != strings.Repeat("a", 200) {
		t.Errorf("200 bytes were cut to %q", got)
	}
	// printf 'a%.0s' $(seq 201) | sha256sum
	want := strings.Repeat("a", 183) + "~" + "a92efd82109373e5"
	if got := Segment(strings.Repeat("a", 201)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A name makes one segment: no separator, no dot at an end, never too long; different names make
// different ones.
func TestSegmentProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if rapid.Bool().Draw(t, "long") {
			a, b = strings.Repeat("é", 90)+a, strings.Repeat("é", 90)+b
		}
		s := Segment(a)
		if len(s) > maxSegment || strings.ContainsAny(s, "/\\\x00*") || strings.HasPrefix(s, ".") || strings.HasSuffix(s, ".") {
			t.Fatalf("Segment(%q) = %q", a, s)
		}
		if a != b && s == Segment(b) {
			t.Fatalf("%q and %q are both %q", a, b, s)
		}
		if head, _, cut := strings.Cut(s, "~"); cut && len(head) > 2 && len(s) == maxSegment {
			if i := strings.LastIndexByte(head, '%'); i > len(head)-3 && i >= 0 {
				t.Fatalf("an escape is cut in %q", s)
			}
		}
	})
}

func TestPaths(t *testing.T) {
	k := shardproto.Key{Variant: "a/b", CaseID: "c d", Trial: 0}
	if got := filepath.ToSlash(TracePath(k)); got != "traces/a%2Fb/c%20d/0.json" {
		t.Error(got)
	}
	if got := filepath.ToSlash(ScorePath("containsText", k)); got != "scores/containsText/a%2Fb/c%20d/0.json" {
		t.Error(got)
	}
	if got := EvalDir("", "base", "my eval"); got != filepath.Join("base", "my%20eval") {
		t.Error(got)
	}
	if got := EvalDir("out", "base", "my eval"); got != "out" {
		t.Error(got)
	}
}

func TestNewRunID(t *testing.T) {
	at := time.Date(2026, 10, 7, 20, 25, 4, 0, time.FixedZone("", 2*3600))
	a, b := NewRunID(at), NewRunID(at)
	if !runIDForm.MatchString(a) || !strings.HasPrefix(a, "20261007T182504Z-") || a == b {
		t.Errorf("%s, %s", a, b)
	}
}

// TestNextRunID: the run that is started last sorts last, whatever the clock was set to since the one before.
func TestNextRunID(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 10, 7, 20, 25, 4, 5, time.UTC)
	last := ""
	for i, now := range []time.Time{at, at.AddDate(0, 0, 1), at, at.Add(time.Hour), at.AddDate(0, 0, 2)} {
		id := NextRunID(dir, now)
		if id <= last || !runIDForm.MatchString(id) {
			t.Errorf("run %d: %s after %s", i, id, last)
		}
		last = id
		if err := os.MkdirAll(filepath.Join(dir, "runs", id), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasPrefix(last, "20261009T202504Z-") {
		t.Errorf("%s: once the clock is later, it counts", last)
	}
}
