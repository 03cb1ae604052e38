package atspi

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/berth-run/berth/session/x11"
)

// Newline says what Type does for a line break.
type Newline int

const (
	// NoNewline refuses a text with a line break: in many a composer, Return sends.
	NoNewline Newline = iota
	// Return presses Return.
	Return
	// ShiftReturn presses Return with Shift, which doesn't send.
	ShiftReturn
)

// Keyboard is what is typed with; package x11 has one. AT-SPI's own (GenerateKeyboardEvent) won't do:
// it drops characters that the layout has no key for, as it puts all of them on one key, in turn and on a
// timer, and lets go of a modifier some time after it has answered.
type Keyboard interface {
	// Type types the beginning of text and tells how many bytes that is. It's called again when they
	// have arrived.
	Type(ctx context.Context, text string) (int, error)
	// Press presses keys together.
	Press(ctx context.Context, keys ...x11.Keysym) error
}

// Clipboard is what a text is handed over with for pasting; package x11 has one.
type Clipboard interface {
	// Set offers text to whoever pastes, until something else is set.
	Set(ctx context.Context, text string) error
}

// Input is how text gets into an app.
type Input struct {
	Keyboard  Keyboard
	Clipboard Clipboard // for Paste
	Newline   Newline   // for Type
}

// Type writes text into an editor, or into an empty document by its first paragraph, and returns when
// that holds it. Where the app takes text whole (EditableText), it replaces what is there; else it's
// typed at the caret of an editor that should be empty.
//
// Errors: ErrInput, ErrTooLarge, ErrUnavailable before anything is written; ErrUnobserved if the editor
// doesn't come to hold the text in ctx's time. Nothing is typed again.
func (a *App) Type(ctx context.Context, n *Node, text string, in Input) error {
	whole := n.Interfaces.Has(HasEditableText)
	if err := checkText(text); err != nil {
		return err
	}
	if err := typable(text, in.Newline); err != nil && !whole {
		return err
	}
	if err := a.confirm(ctx, n, Writable); err != nil {
		return err
	}
	if whole {
		return a.replace(ctx, n, text)
	}
	return a.typeKeys(ctx, n, text, in)
}

// caret is where the keys for an editor go: itself, or the first paragraph of a document that takes no
// focus.
func caret(n *Node) *Node {
	for _, c := range n.Children {
		if n.States.Has(StateFocusable) {
			break
		}
		if c.States.Has(Writable|StateFocusable) && c.Interfaces.Has(HasText) {
			return c
		}
	}
	return n
}

// typeKeys awaits each part before the next: what Return does depends on what is there, and keys may
// change their meaning.
func (a *App) typeKeys(ctx context.Context, n *Node, text string, in Input) error {
	if err := a.Focus(ctx, caret(n)); err != nil {
		return err
	}
	_, end := utf8.DecodeRuneInString(text) // the first character alone: if it doesn't come, no other is typed
	for typed := 0; typed < len(text); end = len(text) {
		size, err := a.typePart(ctx, text[typed:end], in)
		if err != nil {
			return err
		}
		typed += size
		if err := a.awaitText(ctx, n, text[:typed]); err != nil {
			return err
		}
	}
	return nil
}

// typePart types a line break, or as much as goes of a line.
func (a *App) typePart(ctx context.Context, text string, in Input) (int, error) {
	line, _, _ := strings.Cut(text, "\n")
	switch {
	case line != "":
		return in.Keyboard.Type(ctx, line)
	case in.Newline == ShiftReturn:
		return 1, in.Keyboard.Press(ctx, x11.KeyShift, x11.KeyReturn)
	}
	return 1, in.Keyboard.Press(ctx, x11.KeyReturn)
}

// Paste writes text into an editor by way of the clipboard and returns when the editor holds it. It
// takes the same time for any length, and line breaks send nothing.
func (a *App) Paste(ctx context.Context, n *Node, text string, in Input) error {
	if err := checkText(text); err != nil {
		return err
	}
	if err := a.confirm(ctx, n, Writable); err != nil {
		return err
	}
	if err := in.Clipboard.Set(ctx, text); err != nil {
		return err
	}
	if err := a.Focus(ctx, caret(n)); err != nil {
		return err
	}
	if err := in.Keyboard.Press(ctx, x11.KeyControl, 'v'); err != nil {
		return err
	}
	return a.awaitText(ctx, n, text)
}

func checkText(text string) error {
	switch {
	case len(text) > maxText:
		return fail(ErrTooLarge, "%d bytes (at most %d)", len(text), maxText)
	case !utf8.ValidString(text):
		return fail(ErrInput, "the text isn't UTF-8")
	}
	return nil
}

func typable(text string, nl Newline) error {
	for _, r := range text {
		if r == '\n' && nl != NoNewline {
			continue
		}
		if unicode.IsControl(r) || r == marker {
			return fail(ErrInput, "%U can't be typed", r)
		}
	}
	return nil
}

func (a *App) replace(ctx context.Context, n *Node, text string) error {
	var done bool
	if err := a.bus.call(ctx, method(n.Ref, "EditableText.SetTextContents", text), &done); err != nil {
		return a.judge(ctx, err)
	}
	if !done {
		return fail(ErrUnavailable, "%v %q takes no text", n.Role, n.Name)
	}
	return a.awaitText(ctx, n, text)
}

// same compares an editor's text with what was sent, but for line breaks at the end, of which editors
// show one more or less than they hold, and for the kind of a space, since editors on web pages keep one
// at a line's end as U+00A0.
func same(got, sent string) bool {
	plain := strings.NewReplacer("\u00a0", " ")
	return plain.Replace(strings.TrimRight(got, "\n")) == plain.Replace(strings.TrimRight(sent, "\n"))
}

// awaitText waits until an editor holds want. Keys are answered before the app has seen them, so what is
// there meanwhile means nothing.
func (a *App) awaitText(ctx context.Context, n *Node, want string) error {
	var got string
	err := a.bus.until(ctx, a.Bus, "the text", func() (bool, error) {
		text, err := a.Text(ctx, n)
		if err == nil {
			got = text
		}
		if gone(err) || ctx.Err() != nil {
			return false, err
		}
		return err == nil && same(text, want), nil
	})
	if errors.Is(err, ErrDeadline) {
		return fail(ErrUnobserved, "the editor holds %d characters, want %d: %w",
			utf8.RuneCountInString(got), utf8.RuneCountInString(want), err)
	}
	return err
}
