// Command testsummary reads the events of `go test -json` and prints what a person wants of them: a
// line for each package as it ends, the output of what failed, the slowest tests, every skipped test with
// its reason, and the counts on a last line of their own. It exits 1 when something failed or nothing ran. It
// starts no tests and judges none.
package main

import (
	"fmt"
	"os"
)

func main() {
	s, err := read(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(2)
	}
	s.print(os.Stdout)
	if s.failed > 0 || s.passed == 0 {
		os.Exit(1)
	}
}
