package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// suite is one run of the backends' conformance suite. A test is one if it logs "conformance of SET-UP"; its
// subtests are the cases.
type suite struct {
	setup   string
	run     int
	failed  int
	skips   []skip
	leftOut []string // what it logs as "conformance leaves out WHAT"
}

var (
	ofSetup = regexp.MustCompile(`^conformance of (.*)`)
	without = regexp.MustCompile(`^conformance leaves out (.*)`)
)

func (p *pkg) suite(id string) (suite, bool) {
	var s suite
	for _, line := range p.tests[id].output {
		m := logged.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if of := ofSetup.FindStringSubmatch(m[1]); of != nil {
			s.setup = of[1]
		}
		if out := without.FindStringSubmatch(m[1]); out != nil {
			s.leftOut = append(s.leftOut, out[1])
		}
	}
	if s.setup == "" {
		return suite{}, false
	}
	for _, other := range p.order {
		name, ok := strings.CutPrefix(other, id+"/")
		if !ok || strings.Contains(name, "/") {
			continue
		}
		t := p.tests[other]
		switch {
		case t.result == "skip":
			s.skips = append(s.skips, skip{strings.ReplaceAll(name, "_", " "), reason(t.output)})
			continue
		case t.bad():
			s.failed++
		}
		s.run++
	}
	return s, true
}

// printSuites prints a table, with what isn't run below each line.
func printSuites(w io.Writer, suites []suite) {
	if len(suites) == 0 {
		return
	}
	slices.SortFunc(suites, func(a, b suite) int { return strings.Compare(a.setup, b.setup) })
	fmt.Fprintf(w, "\n%-40s %5s %7s %8s\n", "Conformance of", "run", "failed", "skipped")
	for _, s := range suites {
		fmt.Fprintf(w, "  %-38s %5d %7d %8d\n", s.setup, s.run, s.failed, len(s.skips))
		for _, k := range s.skips {
			fmt.Fprintf(w, "    skipped %s: %s\n", k.name, k.reason)
		}
		for _, out := range s.leftOut {
			fmt.Fprintf(w, "    left out %s\n", out)
		}
	}
}
