// Package codetest lets tests say which failure codes they have brought about, for the list of them all that
// `make test` prints and holds against package code.
package codetest

import (
	"testing"

	"github.com/berth-run/berth/internal/code"
)

// Prefix begins the line of a test's log that names a code.
const Prefix = "produced the code "

// Saw notes that a test has brought about a code; "" is none.
func Saw(t testing.TB, c code.Code) {
	t.Helper()
	if c != "" {
		t.Log(Prefix + string(c))
	}
}
