package turn

import (
	"strings"
	"unicode/utf8"

	"github.com/berth-run/berth/internal/code"
)

// CheckPrompt refuses what no app would send unchanged.
func CheckPrompt(p string) error {
	switch {
	case strings.TrimSpace(p) == "":
		return code.Errorf(code.PromptInvalid, "the prompt is empty")
	case !utf8.ValidString(p):
		return code.Errorf(code.PromptInvalid, "the prompt is no UTF-8")
	}
	return nil
}
