package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
)

// Names of forms, as Find gives them.
const (
	FormPlain  = "plain"
	FormBase64 = "base64" // at any of the three alignments, both alphabets
	FormJSON   = "json"
	FormURL    = "url"
	FormHex    = "hex"
)

type form struct{ name, text string }

// formsOf gives every text that gives the secret away. Forms that are the same as the plain one are
// left out.
func formsOf(secret string) []form {
	forms := []form{{FormPlain, secret}}
	add := func(name string, texts ...string) {
		for _, t := range texts {
			if t != secret && t != "" {
				forms = append(forms, form{name, t})
			}
		}
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for skip := range 3 {
			add(FormBase64, aligned(enc, secret, skip))
		}
	}
	add(FormJSON, inJSON(secret, true), inJSON(secret, false))
	add(FormURL, url.QueryEscape(secret), url.PathEscape(secret))
	h := hex.EncodeToString([]byte(secret))
	add(FormHex, h, strings.ToUpper(h))
	return forms
}

// aligned is the part of a base64 text that the secret alone decides, when it begins skip bytes into
// a group of three: characters that share bits with a neighbour are left out at both ends.
func aligned(enc *base64.Encoding, secret string, skip int) string {
	text := enc.EncodeToString(append(make([]byte, skip), secret...))
	first := (skip*8 + 5) / 6
	last := (skip + len(secret)) * 8 / 6
	return text[first:last]
}

// inJSON is the secret inside a JSON string; HTML escaping is encoding/json's default.
func inJSON(secret string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(secret); err != nil {
		return "" // a string can always be encoded
	}
	quoted := strings.TrimSuffix(b.String(), "\n")
	return quoted[1 : len(quoted)-1]
}

// Find gives the names of the forms in which b has the secret, each once; none is a clean b. Unlike
// a Set it takes secrets of any length.
func Find(b []byte, secret string) []string {
	if secret == "" {
		return nil
	}
	var names []string
	for _, f := range formsOf(secret) {
		found := bytes.Contains(b, []byte(f.text))
		if found && (len(names) == 0 || names[len(names)-1] != f.name) {
			names = append(names, f.name)
		}
	}
	return names
}
