package chatgpt

import (
	"strings"

	"github.com/berth-run/berth/internal/code"
)

// maxLink bounds a link, in bytes: it's one element of an argument list, and Linux takes up to 128 KiB.
const maxLink = 120 << 10

// newLink opens a new thread in workspace with a draft; an empty draft has no prompt.
func newLink(workspace, draft string) (string, error) {
	link := "codex://new?path=" + quote(workspace)
	if draft != "" {
		link += "&prompt=" + quote(draft)
	}
	if len(link) > maxLink {
		return "", code.Errorf(code.PromptTooLarge, "the link with the prompt in it has %d bytes, the limit is %d", len(link), maxLink)
	}
	return link, nil
}

// quote is percent-encoding as Python's urllib.parse.quote(s, safe="") has it: all but unreserved
// characters (RFC 3986 §2.3).
func quote(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s))
	for _, c := range []byte(s) {
		if isUnreserved(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
