package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is printed as Markdown, in columns, so that docs/performance.md can have it as it is.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer) {
	rule := make([]string, len(t.head))
	width := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for i := range rule {
		rule[i] = strings.Repeat("-", width[i])
	}
	for _, row := range append([][]string{t.head, rule}, t.rows...) {
		for i, cell := range row {
			fmt.Fprintf(w, "| %s%s ", cell, strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(w, "|")
	}
}

// verdict is one figure for scripts: what berth took, divided by what its peer took.
type verdict struct {
	name  string
	value float64
}

func printRatios(w io.Writer, all ...verdict) {
	fmt.Fprintln(w)
	for _, v := range all {
		fmt.Fprintf(w, "RATIO %s %.4f\n", v.name, v.value)
	}
}
