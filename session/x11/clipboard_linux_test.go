package x11_test

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/sessiontest"
	"github.com/berth-run/berth/session/x11"
)

// xclip is a program that nobody here wrote, which pastes and copies.
func xclip(t *testing.T, s *session.Session, stdin string, args ...string) (string, error) {
	t.Helper()
	sessiontest.Need(t, "/usr/bin/xclip", "xclip")
	cmd := exec.CommandContext(t.Context(), "/usr/bin/xclip", append([]string{"-selection", "clipboard"}, args...)...)
	cmd.Env = s.Env()
	cmd.Stdin = strings.NewReader(stdin)
	// As a copier it leaves a child behind, which holds the output open until another copies.
	var out bytes.Buffer
	if args[0] == "-o" {
		cmd.Stdout = &out
	}
	err := cmd.Run()
	return out.String(), err
}

func clipboard(t *testing.T, s *session.Session) *x11.Clipboard {
	t.Helper()
	c, err := x11.OpenClipboard(t.Context(), sessiontest.Getenv(s, "DISPLAY"))
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestClipboardText(t *testing.T) {
	s := sessiontest.Start(t)
	c := clipboard(t, s)
	const chunk = 64 << 10
	tests := []struct{ name, text string }{
		{"empty", ""},
		{"accents, CJK, emoji, newlines, quotes", "naïve „Café“\n日本語 ✓ 🦊\r\n\t'\"`\\ end\n"},
		{"whole", strings.Repeat("x", chunk)},
		{"in two pieces", strings.Repeat("y", chunk) + "z"},
		{"in whole pieces", strings.Repeat("ab", chunk)},
		{"3 MB, characters across pieces", strings.Repeat("語🦊é", 350_000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			must(t, c.Set(t.Context(), tt.text))
			for _, target := range []string{"UTF8_STRING", "text/plain;charset=utf-8", "text/plain"} {
				got, err := xclip(t, s, "", "-o", "-target", target)
				if err != nil || got != tt.text {
					t.Errorf("as %s: %d bytes pasted, want %d; error %v", target, len(got), len(tt.text), err)
				}
			}
			if !c.Owned() {
				t.Error("the clipboard isn't ours any more")
			}
		})
	}
}

// TestClipboardLatin1: STRING is Latin-1, and only offered for what goes into it.
func TestClipboardLatin1(t *testing.T) {
	s := sessiontest.Start(t)
	c := clipboard(t, s)
	for text, want := range map[string]string{"déjà vu": "d\xe9j\xe0 vu", "日本": ""} {
		must(t, c.Set(t.Context(), text))
		list, err := xclip(t, s, "", "-o", "-target", "TARGETS")
		must(t, err)
		targets := strings.Fields(list)
		for _, target := range []string{"TARGETS", "UTF8_STRING"} {
			if !slices.Contains(targets, target) {
				t.Errorf("%q isn't offered as %s, but as %v", text, target, targets)
			}
		}
		got, err := xclip(t, s, "", "-o", "-target", "STRING")
		if offered := slices.Contains(targets, "STRING"); offered != (want != "") || got != want || (err == nil) != offered {
			t.Errorf("%q offered as STRING: %v; pasted %q, want %q; error %v", text, offered, got, want, err)
		}
	}
}

// TestClipboardTaken: another program's copy takes the clipboard away, and Set takes it back.
func TestClipboardTaken(t *testing.T) {
	s := sessiontest.Start(t)
	c := clipboard(t, s)
	if c.Owned() {
		t.Error("owned before anything was set")
	}
	must(t, c.Set(t.Context(), "ours"))
	if _, err := xclip(t, s, "theirs", "-i"); err != nil {
		t.Fatal(err)
	}
	// xclip may end before its child's claim has reached the server.
	for deadline := time.Now().Add(time.Minute); c.Owned() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if got, err := xclip(t, s, "", "-o"); got != "theirs" || err != nil {
		t.Errorf("pasted %q, error %v", got, err)
	}
	must(t, c.Set(t.Context(), "ours again"))
	if got, err := xclip(t, s, "", "-o"); got != "ours again" || err != nil || !c.Owned() {
		t.Errorf("pasted %q, error %v, owned %v", got, err, c.Owned())
	}
}

func TestClipboardClosed(t *testing.T) {
	s := sessiontest.Start(t)
	c := clipboard(t, s)
	must(t, c.Set(t.Context(), "gone"))
	c.Close()
	if c.Owned() {
		t.Error("owned after Close")
	}
	if got, err := xclip(t, s, "", "-o"); err == nil {
		t.Errorf("pasted %q of a closed clipboard", got)
	}
}
