package code

import (
	"errors"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"plain":                              "plain",
		"two\nlines\n":                       "two; lines",
		"\r\n a \r\n\n\n b":                  "a; b",
		"\x1b[2Jgone\x07":                    "[2Jgone",
		"tab\there":                          "tab here",
		"bidi \u202e txet":                   "bidi   txet",
		"bad \xff byte":                      "bad � byte",
		"separator\u2028here":                "separator here",
		strings.Repeat("x", maxLine):         strings.Repeat("x", maxLine),
		strings.Repeat("x", maxLine) + "y":   strings.Repeat("x", maxLine) + " …",
		strings.Repeat("x", maxLine-1) + "é": strings.Repeat("x", maxLine-1) + " …",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%.40q) = %.60q, want %.60q", in, got, want)
		}
	}
}

func TestErrorfIsOneLine(t *testing.T) {
	cause := errors.Join(errors.New("a"), errors.New("b"))
	err := Errorf(ShardLost, "%w", cause)
	if got := err.Error(); got != "shard_lost: a; b" {
		t.Errorf("got %q", got)
	}
	if !errors.Is(err, cause) || Of(err) != ShardLost {
		t.Error("the chain is cut")
	}
}
