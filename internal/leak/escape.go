package leak

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// text tells text from binaries, in which a backslash means nothing. A piece of text may begin and
// end within a character.
func text(b []byte) bool {
	for n := 0; n < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); n++ {
		b = b[1:]
	}
	for n := 0; n < utf8.UTFMax && len(b) > 0; n++ {
		if r, size := utf8.DecodeLastRune(b); r != utf8.RuneError || size != 1 {
			break
		}
		b = b[:len(b)-1]
	}
	return bytes.IndexByte(b, 0) < 0 && utf8.Valid(b)
}

// unescaped takes one level of JSON's escapes away, wherever one seems to be: too much text does no
// harm here.
func unescaped(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			continue
		}
		i++
		switch c := b[i]; c {
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			if r, ok := codePoint(b[i+1:]); ok {
				out = utf8.AppendRune(out, r)
				i += 4
			} else {
				out = append(out, '\\', c)
			}
		default:
			out = append(out, c)
		}
	}
	return out
}

func codePoint(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	return rune(n), err == nil
}
