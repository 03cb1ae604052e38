// Package withhold takes out of evidence what was answered, for a run that stores no responses: of an app's own
// record and of its window's tree there remain who did what, when, and how long each text was. Known secrets
// are taken out elsewhere (package redact).
package withhold

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/berth-run/berth/session/client"
)

// Responses gives the rewriting of an evidence file, by its name; nil for one that holds no answers as text.
func Responses(name string) func(w io.Writer, r io.Reader) error {
	switch {
	case client.IsRecord(name):
		return record
	case client.IsAnsweredTree(name):
		return tree
	}
	return nil
}

// withheld stands for a text; an empty one says itself.
func withheld(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("[withheld: %d characters]", utf8.RuneCountInString(text))
}
