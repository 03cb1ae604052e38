// Package leak looks for secrets where none may be: the tests' proof that a credential is nowhere but
// in its token file. It reads what anyone with the user's rights could read, by other ways than
// berth's own: the engine's CLI, /proc, the files on disk. It knows only the secrets that it's told,
// in the forms of package redact, and it isn't part of any binary.
package leak

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/berth-run/berth/internal/redact"
)

// Secret is a value with a name to call it by.
type Secret struct{ Name, Value string }

// Finding is a secret where it was found, told without its value.
type Finding struct {
	// Place is like "container inspect" or "image: layer.tar: etc/motd".
	Place  string
	Secret string
	Form   string // as package redact names them
}

func (f Finding) String() string { return fmt.Sprintf("%s has %s (%s)", f.Place, f.Secret, f.Form) }

// Scanner collects findings. Its methods are for one goroutine.
type Scanner struct {
	secrets []Secret
	longest int
	found   map[Finding]bool
	looked  map[string]int64
}

// New looks for secrets; a short one would be found everywhere, so their length is the test's matter.
func New(secrets ...Secret) *Scanner {
	s := &Scanner{secrets: secrets, found: map[Finding]bool{}, looked: map[string]int64{}}
	for _, secret := range secrets {
		s.longest = max(s.longest, len(secret.Value))
	}
	return s
}

// Found is everything found so far, in order.
func (s *Scanner) Found() []Finding {
	var all []Finding
	for f := range s.found {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Secret, b.Secret), cmp.Compare(a.Form, b.Form))
	})
	return all
}

// Looked tells how many bytes were read of all places with that beginning: none found means nothing
// where nothing was read.
func (s *Scanner) Looked(place string) int64 {
	var n int64
	for p, bytes := range s.looked {
		if strings.HasPrefix(p, place) {
			n += bytes
		}
	}
	return n
}

// Text looks through a text that is at hand.
func (s *Scanner) Text(place, text string) { s.bytes(place, []byte(text)) }

func (s *Scanner) bytes(place string, b []byte) {
	s.looked[place] += int64(len(b))
	for level := 0; level <= nesting; level++ {
		for _, secret := range s.secrets {
			for _, form := range redact.Find(b, secret.Value) {
				s.found[Finding{place, secret.Name, form}] = true
			}
		}
		if bytes.IndexByte(b, '\\') < 0 || !text(b) {
			return
		}
		b = unescaped(b)
	}
}

// nesting is how often JSON may be within JSON's strings, as in records of a tool's output.
const nesting = 3

// expansion is how many bytes a form has at most for one of the secret: \u0026.
const expansion = 6

// plain looks through a stream as it is, in overlapping pieces.
func (s *Scanner) plain(place string, r io.Reader) error {
	overlap := expansion * s.longest
	buf := make([]byte, 0, overlap+1<<20)
	for {
		// Not io.ReadFull, whose unexpected EOF is also a packed stream's that was cut.
		var err error
		for err == nil && len(buf) < cap(buf) {
			var n int
			n, err = r.Read(buf[len(buf):cap(buf)])
			buf = buf[:len(buf)+n]
		}
		s.bytes(place, buf)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		kept := copy(buf, bytes.Clone(buf[len(buf)-overlap:]))
		buf = buf[:kept]
	}
}
