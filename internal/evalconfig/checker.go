package evalconfig

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-run/berth/internal/jsonpos"
)

// checker walks a file's nodes and collects what's wrong with them.
type checker struct {
	file     *jsonpos.Document
	problems *Problems
}

func (c *checker) invalid(offset int, format string, args ...any) {
	c.add(ErrInvalid, offset, format, args...)
}

func (c *checker) unsupported(offset int, format string, args ...any) {
	c.add(ErrUnsupported, offset, format, args...)
}

func (c *checker) add(kind error, offset int, format string, args ...any) {
	*c.problems = append(*c.problems, &Problem{Place: c.file.Place(offset), Kind: kind, Msg: fmt.Sprintf(format, args...)})
}

// field reads the value of one key.
type field func(n *jsonpos.Node)

// fields are the keys an object may have.
type fields map[string]field

// shape is what an object may look like.
type shape struct {
	// what names the object in messages ("the eval config", "a variant").
	what string
	// required keys.
	required []string
	// renamed keys, with what to write instead.
	renamed map[string]string
}

// object reads n by fs; anything else in it is a problem.
func (c *checker) object(n *jsonpos.Node, s shape, fs fields) {
	if !c.is(n, jsonpos.Object, s.what) {
		return
	}
	for _, m := range n.Members {
		if read, ok := fs[m.Key]; ok {
			read(m.Value)
			continue
		}
		c.invalid(m.Start, "%s", unknownKey(m.Key, s, fs))
	}
	for _, key := range s.required {
		if n.Get(key) == nil {
			c.invalid(n.Start, "%s needs %q", s.what, key)
		}
	}
}

func unknownKey(key string, s shape, fs fields) string {
	if now, ok := s.renamed[key]; ok {
		return fmt.Sprintf("%q is an old name; %s", key, now)
	}
	known := make([]string, 0, len(fs))
	for k := range fs {
		known = append(known, k)
	}
	slices.Sort(known)
	if near := nearest(key, known); near != "" {
		return fmt.Sprintf("%q isn't a key of %s; did you mean %q?", key, s.what, near)
	}
	return fmt.Sprintf("%q isn't a key of %s; it has %s", key, s.what, strings.Join(known, ", "))
}

func (c *checker) is(n *jsonpos.Node, want jsonpos.Kind, what string) bool {
	if n.Kind == want {
		return true
	}
	c.invalid(n.Start, "%s must be %s, not %s", what, want, n.Kind)
	return false
}

// text reads a string; empty is a problem.
func (c *checker) text(dst *string, what string) field {
	return func(n *jsonpos.Node) {
		if !c.is(n, jsonpos.String, what) {
			return
		}
		if strings.TrimSpace(n.Text) == "" {
			c.invalid(n.Start, "%s is empty", what)
			return
		}
		*dst = n.Text
	}
}

// anyText reads a string that may be empty.
func (c *checker) anyText(dst *string, what string) field {
	return func(n *jsonpos.Node) {
		if c.is(n, jsonpos.String, what) {
			*dst = n.Text
		}
	}
}

func (c *checker) oneOf(dst *string, what string, values ...string) field {
	return func(n *jsonpos.Node) {
		if !c.is(n, jsonpos.String, what) {
			return
		}
		if !slices.Contains(values, n.Text) {
			c.invalid(n.Start, "%s is %q; it must be one of %s", what, n.Text, strings.Join(values, ", "))
			return
		}
		*dst = n.Text
	}
}

func (c *checker) boolean(dst **bool, what string) field {
	return func(n *jsonpos.Node) {
		if c.is(n, jsonpos.Bool, what) {
			*dst = &n.Truth
		}
	}
}

// integer reads a whole number in [lo, hi].
func (c *checker) integer(dst **int, what string, lo, hi int) field {
	return func(n *jsonpos.Node) {
		if !c.is(n, jsonpos.Number, what) {
			return
		}
		v, err := n.Number.Float64()
		if err != nil || v != math.Trunc(v) || v < float64(lo) || v > float64(hi) {
			c.invalid(n.Start, "%s is %s; it must be a whole number %s", what, n.Number, between(float64(lo), float64(hi)))
			return
		}
		i := int(v)
		*dst = &i
	}
}

// fraction reads a number in [lo, hi].
func (c *checker) fraction(dst **float64, what string, lo, hi float64) field {
	return func(n *jsonpos.Node) {
		if !c.is(n, jsonpos.Number, what) {
			return
		}
		v, err := n.Number.Float64()
		if err != nil || v < lo || v > hi {
			c.invalid(n.Start, "%s is %s; it must be %s", what, n.Number, between(lo, hi))
			return
		}
		*dst = &v
	}
}

func between(lo, hi float64) string {
	switch {
	case hi >= maxInt && lo <= -maxInt:
		return "a number"
	case hi >= maxInt:
		return "of at least " + plainNumber(lo)
	default:
		return "from " + plainNumber(lo) + " to " + plainNumber(hi)
	}
}

func plainNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// maxInt is the greatest whole number that every JSON reader keeps exact.
const maxInt = 1<<53 - 1

// list reads each item of a list.
func (c *checker) list(what string, item field) field {
	return func(n *jsonpos.Node) {
		if !c.is(n, jsonpos.Array, what) {
			return
		}
		for _, i := range n.Items {
			item(i)
		}
	}
}

// texts reads a list of non-empty strings.
func (c *checker) texts(dst *[]string, what string) field {
	return func(n *jsonpos.Node) {
		*dst = []string{}
		c.list(what, func(i *jsonpos.Node) {
			var s string
			if c.text(&s, "an entry of "+what)(i); s != "" {
				*dst = append(*dst, s)
			}
		})(n)
	}
}

// textMap reads an object of strings.
func (c *checker) textMap(dst *map[string]string, what string) field {
	return func(n *jsonpos.Node) {
		*dst = map[string]string{}
		c.each(n, what, func(key jsonpos.Member) {
			var s string
			c.anyText(&s, what+"."+key.Key)(key.Value)
			(*dst)[key.Key] = s
		})
	}
}

// each reads every member of an object whose keys are free.
func (c *checker) each(n *jsonpos.Node, what string, read func(jsonpos.Member)) {
	if !c.is(n, jsonpos.Object, what) {
		return
	}
	for _, m := range n.Members {
		read(m)
	}
}

// ignored accepts a value of one kind that berth has no use for.
func (c *checker) ignored(want jsonpos.Kind, what string) field {
	return func(n *jsonpos.Node) { c.is(n, want, what) }
}
