package x11_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jezek/xgb/xproto"

	"github.com/berth-run/berth/session/sessiontest"
	"github.com/berth-run/berth/session/x11"
)

// typed reads n characters as an app does: it looks up what each key means when it comes.
func (a *app) typed(t *testing.T, n int) string {
	t.Helper()
	var text strings.Builder
	for utf8.RuneCountInString(text.String()) < n {
		e := next[xproto.KeyPressEvent](t, a)
		row, err := xproto.GetKeyboardMapping(a.conn, e.Detail, 1).Reply()
		must(t, err)
		column := 0
		if e.State&xproto.ModMaskShift != 0 {
			column = 1
		}
		switch sym := x11.Keysym(row.Keysyms[column]); {
		case sym == x11.KeyShift:
		case sym == x11.KeyReturn:
			text.WriteByte('\n')
		case sym == x11.KeyTab:
			text.WriteByte('\t')
		case sym > 0x01000000:
			text.WriteRune(rune(sym - 0x01000000)) // Unicode, by the X11 protocol's appendix A
		default:
			text.WriteRune(rune(sym)) // Latin-1
		}
	}
	return text.String()
}

// TestType types in as many parts as there are unused keys for, and reads each before the next.
func TestType(t *testing.T) {
	var many strings.Builder
	for r := rune(0x4e00); r < 0x4e00+300; r++ {
		many.WriteRune(r)
	}
	tests := []struct {
		name, text string
		parts      int // at least
	}{
		{"empty", "", 0},
		{"plain, with Shift", "Hello, World! 3 > 2", 1},
		{"line break and tab", "a\n\tB", 1},
		{"accents, CJK, emoji", "Grüße, ça? 漢字 한국어 ✓ 🙂 👩‍👩‍👧", 1},
		{"one twice", "🙂🙂 語語", 1},
		{"more than unused keys", many.String(), 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := sessiontest.Start(t)
			a, d := newApp(t, s, 0), open(t, s)
			k, err := d.OpenKeyboard(t.Context())
			must(t, err)
			parts := 0
			for left := tt.text; left != ""; parts++ {
				n, err := k.Type(t.Context(), left)
				must(t, err)
				if got := a.typed(t, utf8.RuneCountInString(left[:n])); got != left[:n] {
					t.Fatalf("the app got %q, want %q", got, left[:n])
				}
				left = left[n:]
			}
			if parts < tt.parts {
				t.Errorf("typed in %d parts, want at least %d", parts, tt.parts)
			}
		})
	}
}

// TestKeyboardClose: the keys that were borrowed are unused again, and others can be put there.
func TestKeyboardClose(t *testing.T) {
	s := sessiontest.Start(t)
	a, d := newApp(t, s, 0), open(t, s)
	k, err := d.OpenKeyboard(t.Context())
	must(t, err)
	_, err = k.Type(t.Context(), "語")
	must(t, err)
	e := next[xproto.KeyPressEvent](t, a)
	must(t, k.Close(t.Context()))
	row, err := xproto.GetKeyboardMapping(a.conn, e.Detail, 1).Reply()
	must(t, err)
	for _, sym := range row.Keysyms {
		if sym != 0 {
			t.Errorf("key %d still means %#x", e.Detail, sym)
		}
	}
	_, err = k.Type(t.Context(), "🙂")
	must(t, err)
	if got := a.typed(t, 1); got != "🙂" {
		t.Errorf("after Close the app got %q", got)
	}
}

func TestKeyboardServerGone(t *testing.T) {
	s := sessiontest.Start(t)
	d := open(t, s)
	k, err := d.OpenKeyboard(t.Context())
	must(t, err)
	must(t, s.Close())
	if _, err := k.Type(t.Context(), "a"); !errors.Is(err, x11.ErrDisplay) {
		t.Errorf("error %v", err)
	}
}
