package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of `go test -json`; see `go doc test2json` and `go help buildjson`.
type event struct {
	Action      string
	Package     string
	Test        string
	Elapsed     float64
	Output      string
	ImportPath  string // of build-output
	FailedBuild string // the ImportPath whose build failed a package
}

// test is what is known of one test or subtest.
type test struct {
	result  string // "", while it runs; pass, fail, skip
	elapsed float64
	output  []string
}

// pkg is one package's run.
type pkg struct {
	order  []string // of tests, by start
	tests  map[string]*test
	output []string // outside of any test
}

// reader keeps the packages that haven't ended, and what the compiler said.
type reader struct {
	summary
	out    io.Writer
	pkgs   map[string]*pkg
	builds map[string][]string
}

// read takes events until r ends, and reports each package on out as it ends. A line that is no
// event is passed on as it is.
func read(r io.Reader, out io.Writer) (summary, error) {
	rd := &reader{out: out, pkgs: map[string]*pkg{}, builds: map[string][]string{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Action == "" {
			fmt.Fprintln(out, lines.Text())
			continue
		}
		rd.take(e)
	}
	for _, name := range rd.running() { // go test itself was ended
		rd.end(event{Action: "fail", Package: name})
	}
	return rd.summary, lines.Err()
}

func (rd *reader) running() []string {
	var names []string
	for name := range rd.pkgs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (rd *reader) take(e event) {
	if e.Action == "build-output" {
		rd.builds[e.ImportPath] = append(rd.builds[e.ImportPath], e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	if e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip") {
		rd.end(e)
		return
	}
	rd.pkg(e.Package).take(e)
}

func (rd *reader) pkg(name string) *pkg {
	p := rd.pkgs[name]
	if p == nil {
		p = &pkg{tests: map[string]*test{}}
		rd.pkgs[name] = p
	}
	return p
}

func (p *pkg) take(e event) {
	if e.Test == "" {
		if e.Action == "output" {
			p.output = append(p.output, e.Output)
		}
		return
	}
	t := p.tests[e.Test]
	if t == nil {
		t = &test{}
		p.tests[e.Test] = t
		p.order = append(p.order, e.Test)
	}
	switch e.Action {
	case "output":
		t.output = append(t.output, e.Output)
	case "pass", "fail", "skip":
		t.result, t.elapsed = e.Action, e.Elapsed
	}
}

// end counts a package that has ended, says so, and forgets it.
func (rd *reader) end(e event) {
	p := rd.pkg(e.Package)
	delete(rd.pkgs, e.Package)
	before := rd.summary
	rd.count(e.Package, p)
	if e.Action == "fail" && rd.failed == before.failed {
		rd.failed++
		rd.failures = append(rd.failures, failure{name: e.Package, output: append(rd.builds[e.FailedBuild], p.output...)})
	}
	passed, failed, skipped := rd.passed-before.passed, rd.failed-before.failed, rd.skipped()-before.skipped()
	if passed+failed+skipped == 0 {
		return // no test files
	}
	fmt.Fprintf(rd.out, "%-4s %-60s %6.1fs  %s\n", verdict(failed), e.Package, e.Elapsed, counts(passed, failed, skipped))
	for _, f := range rd.failures[len(before.failures):] {
		fmt.Fprintf(rd.out, "--- %s\n%s", f.name, strings.Join(f.output, ""))
	}
}

func verdict(failed int) string {
	if failed > 0 {
		return "FAIL"
	}
	return "ok"
}
