package driver

import (
	"regexp"
	"strings"
)

// isDraft tells whether a composer's text is a prompt that was handed over: to the letter, with one
// line break more, or with code spans shown as code (contract §4.4).
func isDraft(text, prompt string) bool {
	return text == prompt || text == prompt+"\n" || text == withoutCodeMarks(prompt)
}

var backticks = regexp.MustCompile("`+")

// withoutCodeMarks is text as an editor shows its code spans: without their marks, which are single
// backticks on one line.
func withoutCodeMarks(text string) string {
	var out strings.Builder
	done := 0
	runs := backticks.FindAllStringIndex(text, -1)
	single := func(i int) bool { return i < len(runs) && runs[i][1]-runs[i][0] == 1 }
	for i := 0; i < len(runs); i++ {
		if !single(i) || !single(i+1) {
			continue
		}
		code := text[runs[i][1]:runs[i+1][0]]
		if strings.Contains(code, "\n") {
			continue
		}
		out.WriteString(text[done:runs[i][0]] + code)
		done = runs[i+1][1]
		i++
	}
	return out.String() + text[done:]
}
