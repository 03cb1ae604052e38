package code

import (
	"strings"
	"unicode"
)

// maxLine bounds Line, in bytes: a shard may send megabytes for an error.
const maxLine = 2000

// Line is text as one line for a person. Line breaks become "; ", and other control characters,
// which foreign text may hold to fool a terminal, become spaces.
func Line(text string) string {
	text = strings.ToValidUTF8(text, "�")
	var lines []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(strings.Map(printable, l)); l != "" {
			lines = append(lines, l)
		}
	}
	text = strings.Join(lines, "; ")
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + " …"
	}
	return text
}

func printable(r rune) rune {
	if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) {
		return ' '
	}
	return r
}
