package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
)

// noteCodes takes what a test that passed says of codes.
func (s *summary) noteCodes(name string, output []string) {
	for _, line := range output {
		_, c, ok := strings.Cut(strings.TrimSpace(line), codetest.Prefix)
		if !ok {
			continue
		}
		if s.codes == nil {
			s.codes = map[code.Code]string{}
		}
		if _, known := s.codes[code.Code(c)]; !known {
			s.codes[code.Code(c)] = name
		}
	}
}

// wantCodes counts a failure for each code of the contract that no test brought about, though one could.
func (s *summary) wantCodes() {
	for _, c := range code.Contract {
		if s.codes[c] == "" && !slices.Contains(code.Unreachable, c) {
			s.failed++
			s.failures = append(s.failures, failure{name: fmt.Sprintf("no test brought about the code %s", c)})
		}
	}
}

func (s *summary) printCodes(w io.Writer) {
	if len(s.codes) == 0 {
		return
	}
	fmt.Fprintln(w, "\nFailure codes, with a test that brought each about:")
	for _, c := range slices.Concat(code.Contract, code.Own) {
		if test := s.codes[c]; test != "" {
			fmt.Fprintf(w, "  %-32s %s\n", c, test)
		}
	}
}
