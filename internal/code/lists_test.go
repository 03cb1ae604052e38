package code

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLists: every code that is declared is in one of the lists.
func TestLists(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []Code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && len(spec.Values) == 1 {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				text, _ := strconv.Unquote(lit.Value)
				declared = append(declared, Code(text))
			}
		}
		return true
	})
	if d := cmp.Diff(declared, slices.Concat(Contract, Own)); d != "" {
		t.Errorf("(-declared +listed):\n%s", d)
	}
	for _, c := range Unreachable {
		if !slices.Contains(Contract, c) {
			t.Errorf("%s isn't the contract's", c)
		}
	}
}

// TestDocumented: the docs have one table of the codes that are berth's own, with each of them once.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/codes.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []Code
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|").FindAllSubmatch(text, -1) {
		documented = append(documented, Code(m[1]))
	}
	if d := cmp.Diff(Own, documented); d != "" {
		t.Errorf("(-own +documented):\n%s", d)
	}
}
