package archive

import "errors"

// The closed set of errors; the text around them names the entry and never its content.
var (
	// ErrHostile: an entry that leaves its folder, or is neither a file, a folder nor a link inside it.
	ErrHostile = errors.New("refused tar entry")
	// ErrTooLarge: more bytes or entries than Limits allow.
	ErrTooLarge = errors.New("tar stream too large")
	// ErrChanged: a file became shorter while it was packed; packing again is the cure.
	ErrChanged = errors.New("file changed while it was read")
	// ErrLeftOut: something couldn't be packed; everything else was.
	ErrLeftOut = errors.New("left out of the tar stream")
)
