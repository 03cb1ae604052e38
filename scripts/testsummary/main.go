// Command testsummary reads the events of `go test -json` and prints what a person wants of them: a
// line for each package as it ends, the output of what failed, the slowest tests, the failure codes with the
// tests that brought them about, every skipped test with its reason, and the counts on a last line of their
// own. It exits 1 when something failed or nothing ran, with -no-skips also when something was skipped, with
// -codes when a code of the contract didn't come up. It starts no tests and judges none.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	noSkips := flag.Bool("no-skips", false, "a skipped test is a failure")
	all := flag.Bool("codes", false, "all tests were run: fail for a code of the contract that none brought about")
	flag.Parse()
	s, err := read(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(2)
	}
	if *all {
		s.wantCodes()
	}
	s.print(os.Stdout)
	if s.failed > 0 || s.passed == 0 || *noSkips && s.skipped() > 0 {
		os.Exit(1)
	}
}
