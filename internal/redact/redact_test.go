package redact

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const secret = `s3cr"et<&>/+ token-0123456789`

func TestString(t *testing.T) {
	var s Set
	if !s.Add(secret) || !s.Add("sk-0123456789") || !s.Add("sk-0123456789-longer") {
		t.Fatal("Add refused a secret")
	}
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"nothing here", "nothing here"},
		{"a " + secret + " b " + secret, "a [redacted] b [redacted]"},
		{"sk-0123456789-longer,sk-0123456789.", "[redacted],[redacted]."},
		{`{"k":"s3cr\"et\u003c\u0026\u003e/+ token-0123456789"}`, `{"k":"[redacted]"}`},
		{`{"k":"s3cr\"et<&>/+ token-0123456789"}`, `{"k":"[redacted]"}`},
		{"?k=" + url.QueryEscape(secret), "?k=[redacted]"},
		{"/" + url.PathEscape(secret) + "/", "/[redacted]/"},
		{fmt.Sprintf("%x %X", secret, secret), "[redacted] [redacted]"},
	} {
		if got := s.String(tt.in); got != tt.want {
			t.Errorf("String(%q) = %q, want %q", tt.in, got, tt.want)
		}
		if got := s.Bytes([]byte(tt.in)); string(got) != tt.want {
			t.Errorf("Bytes(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// The escape before a quote at the secret's end is the secret's, too.
func TestSecretInQuotes(t *testing.T) {
	var s Set
	s.Add(`"quoted-0123456789"`)
	if got, want := s.String(`{"k":"\"quoted-0123456789\""}`), `{"k":"[redacted]"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestShortSecretsAndEmptySets(t *testing.T) {
	var s, none *Set = new(Set), nil
	if s.Add("test") || s.Add("") {
		t.Error("a short secret was taken")
	}
	for _, set := range []*Set{s, none} {
		if got := set.String("a test"); got != "a test" {
			t.Errorf("got %q", got)
		}
	}
}

// Whatever stands before and after a secret, base64 of the whole shows none of it but the few bits
// that share a character with a neighbour.
func TestBase64AtEveryAlignment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token := rapid.StringMatching(`[!-~]{8,60}`).Draw(t, "token")
		before := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "before")
		after := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "after")
		enc := rapid.SampledFrom([]*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding}).Draw(t, "encoding")
		text := enc.EncodeToString(append(append(before, token...), after...))
		if names := Find([]byte(text), token); len(names) != 1 || names[0] != FormBase64 {
			t.Fatalf("Find gives %v", names)
		}
		var s Set
		s.Add(token)
		if clean := s.String(text); len(Find([]byte(clean), token)) != 0 || !strings.Contains(clean, Mask) {
			t.Fatalf("%q became %q", text, clean)
		}
	})
}

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string
	}{
		{"clean", ""},
		{"x" + secret, "plain"},
		{"%20" + url.QueryEscape(secret) + base64.StdEncoding.EncodeToString([]byte(secret)), "base64 url"},
		{fmt.Sprintf("%x", secret), "hex"},
		{fmt.Sprintf("%s %X", strings.ReplaceAll(secret, `"`, `\"`), secret), "json hex"},
	} {
		if got := strings.Join(Find([]byte(tt.text), secret), " "); got != tt.want {
			t.Errorf("Find(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
	if Find([]byte("anything"), "") != nil {
		t.Error("an empty secret was found")
	}
}

func TestErrorKeepsTheChain(t *testing.T) {
	var s Set
	s.Add(secret)
	inner := &fs.PathError{Op: "open", Path: secret, Err: fs.ErrNotExist}
	err := s.Error(fmt.Errorf("reading: %w", inner))
	var path *fs.PathError
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &path) {
		t.Errorf("the chain of %v is broken", err)
	}
	if want := "reading: open [redacted]: file does not exist"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if got := s.Error(errors.New("plain")); errors.Unwrap(got) != nil || got.Error() != "plain" || s.Error(nil) != nil {
		t.Error("an error without a secret was changed")
	}
}

// However a text is cut into writes, what comes out is what String gives.
func TestWriterAtEveryCut(t *testing.T) {
	secrets := []string{"aaaaaaab", "aaaaaaabaaaaaaabc", "abababab"}
	var s Set
	for _, x := range secrets {
		s.Add(x)
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom(append(secrets, "a", "b", "ab", "c", "aaaaaaa"))).Draw(t, "parts")
		text := strings.Join(parts, "")
		var out bytes.Buffer
		w := s.Writer(&out)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			if m, err := w.Write([]byte(rest[:n])); m != n || err != nil {
				t.Fatalf("Write gave %d, %v", m, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), s.String(text); got != want {
			t.Fatalf("%q came out as %q, want %q", text, got, want)
		}
	})
}

func TestWriterKeepsNothingBackWithoutReason(t *testing.T) {
	var s Set
	s.Add(secret)
	var out bytes.Buffer
	fmt.Fprint(s.Writer(&out), "progress\n")
	if out.String() != "progress\n" {
		t.Errorf("got %q before Close", out.String())
	}
}

func TestWriterPassesErrorsOn(t *testing.T) {
	var s Set
	broken := errors.New("disk full")
	if _, err := s.Writer(failing{broken}).Write([]byte("x")); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
