package driver

import "testing"

func TestIsDraft(t *testing.T) {
	for _, tc := range []struct {
		name, text, prompt string
		want               bool
	}{
		{"the same", "a b", "a b", true},
		{"several lines", "a\n\nb", "a\n\nb", true},
		{"one line break more", "a b\n", "a b", true},
		{"two more", "a b\n\n", "a b", false},
		{"one less", "a b", "a b\n", false},
		{"a space more", "a b ", "a b", false},
		{"nothing", "", "a b", false},
		{"the beginning", "a", "a b", false},
		{"another composition of the same letter", "u\u0308", "ü", false},
		{"code shown as code", "run go test now", "run `go test` now", true},
		{"code as it was", "run `go test` now", "run `go test` now", true},
		{"one span of two", "run go and `ls`", "run `go` and `ls`", false},
		{"two spans", "run go and ls", "run `go` and `ls`", true},
		{"a lone backtick", "a ` b", "a ` b", true},
		{"a lone backtick gone", "a  b", "a ` b", false},
		{"a span over lines", "a b\nc d", "a `b\nc` d", false},
		{"double backticks stay", "a ``b`` c", "a ``b`` c", true},
		{"double backticks gone", "a b c", "a ``b`` c", false},
		{"code and a line break", "run ls\n", "run `ls`", false},
		{"a fence", "```\nx\n```", "```\nx\n```", true},
	} {
		if got := isDraft(tc.text, tc.prompt); got != tc.want {
			t.Errorf("%s: isDraft(%q, %q) = %v", tc.name, tc.text, tc.prompt, got)
		}
	}
}

func TestWithoutCodeMarks(t *testing.T) {
	for in, want := range map[string]string{
		"":            "",
		"plain":       "plain",
		"`a`":         "a",
		"`a` `b`":     "a b",
		"`a``b`":      "`a``b`",
		"``a` b`":     "``a b",
		"``` `a` ```": "``` a ```",
		"`a\nb` `c`":  "`a\nb c`", // the second mark opens, as the first can't be closed on its line
		"漢 `字` é":     "漢 字 é",
		"a ` b":       "a ` b",
		"`b` ` c `d`": "b  c d`", // whatever two marks stand next to each other
	} {
		if got := withoutCodeMarks(in); got != want {
			t.Errorf("withoutCodeMarks(%q) = %q, want %q", in, got, want)
		}
	}
}
