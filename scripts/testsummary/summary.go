package main

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/berth-run/berth/internal/code"
)

// summary is what all packages came to. A test that has subtests isn't counted itself, unless it
// failed and none of them did.
type summary struct {
	passed   int
	failed   int
	skips    []skip
	failures []failure
	timings  []timing             // of tests that aren't subtests
	codes    map[code.Code]string // the first test that brought one about
	suites   []suite
}

// timing is how long a test took, in seconds.
type timing struct {
	name    string
	seconds float64
}

// skip is a skipped test with the reason it gave.
type skip struct{ name, reason string }

// failure is a failed test, or a package that failed outside of its tests, and what it printed.
type failure struct {
	name   string
	output []string
}

func (s *summary) skipped() int { return len(s.skips) }

func (s *summary) count(name string, p *pkg) {
	for _, id := range p.order {
		t := p.tests[id]
		full := path.Base(name) + "." + id
		if !strings.Contains(id, "/") {
			s.timings = append(s.timings, timing{full, t.elapsed})
		}
		if suite, ok := p.suite(id); ok {
			s.suites = append(s.suites, suite)
		}
		if t.result == "pass" {
			s.noteCodes(full, t.output)
		}
		parent := p.any(id, func(*test) bool { return true })
		switch {
		case t.result == "skip" && !parent:
			s.skips = append(s.skips, skip{full, reason(t.output)})
		case t.result == "pass" && !parent:
			s.passed++
		case t.result == "pass", t.result == "skip", p.any(id, (*test).bad):
		default: // failed by itself, or cut short
			s.failed++
			s.failures = append(s.failures, failure{full, t.output})
		}
	}
}

func (t *test) bad() bool { return t.result == "fail" || t.result == "" }

// any tells whether a subtest of id, however deep, is as f says.
func (p *pkg) any(id string, f func(*test) bool) bool {
	for other, t := range p.tests {
		if strings.HasPrefix(other, id+"/") && f(t) {
			return true
		}
	}
	return false
}

var logged = regexp.MustCompile(`^\s*\S+\.go:\d+: (.*)`)

// reason is what t.Skip logged: the last logged line.
func reason(output []string) string {
	for i := len(output) - 1; i >= 0; i-- {
		if m := logged.FindStringSubmatch(output[i]); m != nil {
			return strings.TrimSpace(m[1])
		}
	}
	return "no reason given"
}

// slowest gives the tests that took a second or more, the longest first, up to n.
func (s *summary) slowest(n int) []timing {
	slow := slices.DeleteFunc(slices.Clone(s.timings), func(t timing) bool { return t.seconds < 1 })
	slices.SortStableFunc(slow, func(a, b timing) int { return cmp.Compare(b.seconds, a.seconds) })
	return slow[:min(n, len(slow))]
}

// print ends with the counts alone on a line.
func (s *summary) print(w io.Writer) {
	slow := s.slowest(15)
	if len(slow) > 0 {
		fmt.Fprintln(w, "\nSlowest:")
	}
	for _, t := range slow {
		fmt.Fprintf(w, "  %6.1fs  %s\n", t.seconds, t.name)
	}
	printSuites(w, s.suites)
	s.printCodes(w)
	if len(s.skips) > 0 {
		fmt.Fprintln(w, "\nSkipped:")
	}
	for _, k := range s.skips {
		fmt.Fprintf(w, "  %s: %s\n", k.name, k.reason)
	}
	if len(s.failures) > 0 {
		fmt.Fprintln(w, "\nFailed:")
	}
	for _, f := range s.failures {
		fmt.Fprintf(w, "  %s\n", f.name)
	}
	fmt.Fprintf(w, "\n%s\n", counts(s.passed, s.failed, s.skipped()))
}

func counts(passed, failed, skipped int) string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", passed, failed, skipped)
}
