package evalconfig

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/berth-run/berth/internal/jsonpos"
)

// What Load and Resolve fail with; match with errors.Is.
var (
	// ErrInvalid: a file doesn't say what an eval config or dataset may say.
	ErrInvalid = errors.New("invalid eval config")
	// ErrUnsupported: the file is right, and berth doesn't do what it asks for.
	ErrUnsupported = errors.New("not supported by berth")
	// ErrSelection: a variant, case or tag was asked for that isn't there.
	ErrSelection = errors.New("nothing to select")
)

// Place is where in a config or a dataset something stands.
type Place = jsonpos.Place

// Problem is one thing that is wrong, in one line that names the fix.
type Problem struct {
	Place Place
	// Kind is ErrInvalid or ErrUnsupported.
	Kind error
	Msg  string
}

func (p *Problem) Error() string { return p.Place.String() + ": " + p.Msg }

// Unwrap gives the kind, for errors.Is.
func (p *Problem) Unwrap() error { return p.Kind }

// Problems are all that was found.
type Problems []*Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives every problem, for errors.Is and errors.As.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// err is ps as an error, nil when empty, in reading order; what two variants
// inherit is said once.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Place.File, b.Place.File), cmp.Compare(a.Place.Line, b.Place.Line), cmp.Compare(a.Place.Col, b.Place.Col))
	})
	return slices.CompactFunc(ps, func(a, b *Problem) bool { return *a == *b })
}
