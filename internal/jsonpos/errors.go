package jsonpos

import "fmt"

// Error is why a file isn't the JSON that it should be, in one line that names the fix.
type Error struct {
	Place Place
	Msg   string
}

func (e *Error) Error() string { return e.Place.String() + ": " + e.Msg }

func (d *Document) errorf(offset int, format string, args ...any) error {
	return &Error{Place: d.Place(offset), Msg: fmt.Sprintf(format, args...)}
}
