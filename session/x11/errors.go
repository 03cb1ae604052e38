package x11

import "errors"

var (
	// ErrDisplay: the display isn't there, is gone, or refused a call.
	ErrDisplay = errors.New("the display")
	// ErrNoKey: the keyboard has no key for it.
	ErrNoKey = errors.New("no such key on the keyboard")
	// ErrFocus: the window didn't get the focus.
	ErrFocus = errors.New("the window didn't get the focus")
	// ErrPoint: a point outside of the screen.
	ErrPoint = errors.New("outside of the screen")
	// ErrClipboard: another program keeps the clipboard.
	ErrClipboard = errors.New("the clipboard is another program's")
)
