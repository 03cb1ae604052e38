package rollout

import "strings"

// Match is how a recorded prompt equals the one that was sent (contract §4.5).
type Match string

// The ways, from the strictest.
const (
	// MatchExact: byte for byte.
	MatchExact Match = "exact"
	// MatchTerminalLF: with one line feed added at the end.
	MatchTerminalLF Match = "native_terminal_lf"
	// MatchMarkdownEscaped: with a backslash before Markdown's punctuation, as a rich editor writes it.
	MatchMarkdownEscaped Match = "native_markdown_escaped"
)

// MatchPrompt compares a recorded prompt in the allowed ways; "" is no match.
func MatchPrompt(sent, recorded string, allowed ...Match) Match {
	for _, m := range allowed {
		if m.holds(sent, recorded) {
			return m
		}
	}
	return ""
}

func (m Match) holds(sent, recorded string) bool {
	switch m {
	case MatchExact:
		return recorded == sent
	case MatchTerminalLF:
		return recorded == sent+"\n"
	case MatchMarkdownEscaped:
		plain := unescape(recorded)
		return plain == sent || plain == sent+"\n"
	}
	return false
}

// unescape takes away the backslash before ASCII punctuation, as CommonMark §2.4 has it.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && isPunctuation(s[i+1]) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isPunctuation(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}
