package rollout

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func sha256Hex(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// put writes a record into a Codex home and returns its path.
func put(t *testing.T, home, id string, text []byte) string {
	t.Helper()
	dir := filepath.Join(home, "sessions", "2026", "11", "29")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "rollout-2026-11-29T16-34-48-"+id+".jsonl")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var recordedAt = time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)

func exactly(prompt string) Criteria {
	return Criteria{Originator: "berth_codex", Prompt: prompt, Allowed: []Match{MatchExact}, Since: recordedAt}
}

func TestBind(t *testing.T) {
	session := string(recorded(t, "answer"))
	id := parse(t, []byte(session)).meta.SessionID
	replaced := func(from, to string) []byte { return bytes.ReplaceAll([]byte(session), []byte(from), []byte(to)) }
	turnID := parse(t, []byte(session)).turns[0].ID
	secondTurn := append([]byte(session), bytes.SplitAfterN(replaced(turnID, "another"), []byte("\n"), 2)[1]...)
	tests := []struct {
		name     string
		records  [][]byte
		criteria Criteria
		found    bool
		err      error
	}{
		{name: "none yet", criteria: exactly("Say hi.")},
		{name: "exact", records: [][]byte{[]byte(session)}, criteria: exactly("Say hi."), found: true},
		{name: "another prompt", records: [][]byte{[]byte(session)}, criteria: exactly("Say ho.")},
		{name: "another originator", records: [][]byte{replaced(`"berth_codex"`, `"codex_cli"`)}, criteria: exactly("Say hi.")},
		{name: "a subagent's", records: [][]byte{replaced(`"source":"vscode"`, `"source":{"subagent":"x"}`)}, criteria: exactly("Say hi.")},
		{
			name: "two sessions", records: [][]byte{[]byte(session), replaced(id, "other")},
			criteria: exactly("Say hi."), err: ErrAmbiguous,
		},
		{
			name: "two sessions, one asked for", records: [][]byte{[]byte(session), replaced(id, "other")},
			criteria: func() Criteria { c := exactly("Say hi."); c.SessionID = id; return c }(), found: true,
		},
		{name: "two turns", records: [][]byte{secondTurn}, criteria: exactly("Say hi."), err: ErrAmbiguous},
		{
			name: "started before", records: [][]byte{[]byte(session)},
			criteria: func() Criteria { c := exactly("Say hi."); c.Since = recordedAt.AddDate(0, 0, 1); return c }(),
		},
		{name: "terminal line feed is not exact", records: [][]byte{replaced("Say hi.", `Say hi.\n`)}, criteria: exactly("Say hi.")},
		{name: "malformed", records: [][]byte{[]byte("x\ny\n")}, criteria: exactly("Say hi."), err: ErrMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			put(t, home, "before", []byte(session))
			s, err := TakeSnapshot(home)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range tt.records {
				put(t, home, fmt.Sprint(i), text)
			}
			b, err := NewBinder(s, tt.criteria).Poll()
			if !errors.Is(err, tt.err) || (b != nil) != tt.found {
				t.Fatalf("found %v, error %v", b, err)
			}
			if b != nil && (b.Match != MatchExact || b.Rollout.Meta().SessionID != id || b.Turn.ID != turnID) {
				t.Errorf("bound %+v", b)
			}
		})
	}
}

// TestGrowing feeds a record byte by byte: it's bound once the prompt is there, and then complete.
func TestGrowing(t *testing.T) {
	text := recorded(t, "mcp-code-mode")
	home := t.TempDir()
	s, err := TakeSnapshot(home)
	if err != nil {
		t.Fatal(err)
	}
	path := put(t, home, "a", nil)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	binder := NewBinder(s, exactly("Add 2 and 3 with mcp."))
	prompted := bytes.Index(text, []byte(`"UserMessage"`))
	prompted += bytes.IndexByte(text[prompted:], '\n') + 1
	var bound *Bound
	for i := range text {
		if _, err := f.Write(text[i : i+1]); err != nil {
			t.Fatal(err)
		}
		if i%97 != 0 && i != prompted-1 && i != len(text)-1 {
			continue
		}
		if bound, err = binder.Poll(); err != nil {
			t.Fatal(err)
		}
		if (bound != nil) != (i >= prompted-1) {
			t.Fatalf("at byte %d of %d: bound is %v", i, len(text), bound)
		}
	}
	if !bound.Turn.Answered() || len(bound.Turn.Trace().Events) != 2 || bound.Rollout.Size() != int64(len(text)) {
		t.Errorf("turn %+v, %d bytes", bound.Turn, bound.Rollout.Size())
	}
	if grew, err := bound.Rollout.Poll(); grew || err != nil {
		t.Errorf("nothing was appended, yet grew %v, error %v", grew, err)
	}
}

func TestUnsafeFiles(t *testing.T) {
	text := recorded(t, "answer")
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		want error
	}{
		{"second link", func(t *testing.T, path string) { must(t, os.Link(path, path+".link")) }, ErrUnsafeFile},
		{"pipe", func(t *testing.T, path string) { must(t, errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600))) }, ErrUnsafeFile},
		{"too large", func(t *testing.T, path string) { must(t, os.Truncate(path, MaxSize+1)) }, ErrTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := put(t, t.TempDir(), "a", text)
			tt.make(t, path)
			if _, err := Open(path, nil).Poll(); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
	t.Run("symbolic link", func(t *testing.T) {
		path := put(t, t.TempDir(), "a", text)
		must(t, os.Symlink(path, path+".link"))
		if _, err := Open(path+".link", nil).Poll(); err == nil {
			t.Error("followed")
		}
	})
	t.Run("shrunk", func(t *testing.T) {
		path := put(t, t.TempDir(), "a", text)
		r := Open(path, nil)
		if _, err := r.Poll(); err != nil {
			t.Fatal(err)
		}
		must(t, os.Truncate(path, 10))
		if _, err := r.Poll(); !errors.Is(err, ErrReplaced) {
			t.Errorf("error %v", err)
		}
	})
}

func TestTooManyFiles(t *testing.T) {
	home := t.TempDir()
	for i := range MaxFiles + 1 {
		if i == 0 {
			put(t, home, "0", nil)
			continue
		}
		path := filepath.Join(home, "sessions", "2026", "11", "29", fmt.Sprintf("rollout-%d.jsonl", i))
		must(t, os.WriteFile(path, nil, 0o600))
	}
	if _, err := TakeSnapshot(home); !errors.Is(err, ErrTooManyFiles) {
		t.Errorf("error %v", err)
	}
}

func TestMatchPrompt(t *testing.T) {
	all := []Match{MatchExact, MatchTerminalLF, MatchMarkdownEscaped}
	tests := []struct {
		sent, recorded string
		want           Match
	}{
		{"a", "a", MatchExact},
		{"a\n", "a\n", MatchExact},
		{"a", "a\n", MatchTerminalLF},
		{"a", "a\n\n", ""},
		{"a\n", "a", ""},
		{"use `ls -l` *now*", "use \\`ls -l\\` \\*now\\*", MatchMarkdownEscaped},
		{"a_b", "a\\_b\n", MatchMarkdownEscaped},
		{`C:\dir`, `C:\dir`, MatchExact},
		{`C:\*`, `C:\\\*`, MatchMarkdownEscaped},
		{`a\_b`, `a_b`, ""},
		{"a", "a ", ""},
		{"é_", "é\\_", MatchMarkdownEscaped},
	}
	for _, tt := range tests {
		if got := MatchPrompt(tt.sent, tt.recorded, all...); got != tt.want {
			t.Errorf("sent %q, recorded %q: %q, want %q", tt.sent, tt.recorded, got, tt.want)
		}
	}
}

func TestNamespace(t *testing.T) {
	l := newLabels([]string{"my-wiki", "my", "notes"})
	for label, want := range map[string]string{"notes": "mcp__notes", "my-wiki": "mcp__my_wiki", "a_b-c": "mcp__a_b_c"} {
		if got := Namespace(label); got != want {
			t.Errorf("Namespace(%q) = %q, want %q", label, got, want)
		}
	}
	tests := []struct {
		raw, server, tool string
		ok                bool
	}{
		{"mcp__my_wiki__find__all", "my-wiki", "find__all", true},
		{"mcp__my__wiki__find", "my", "wiki__find", true},
		{"mcp__other__x", "other", "x", true},
		{"mcp__other", "", "", false},
		{"mcp__notes__", "", "", false},
		{"exec_command", "", "", false},
	}
	for _, tt := range tests {
		server, tool, ok := l.split(tt.raw)
		if ok != tt.ok || ok && (server != tt.server || tool != tt.tool) {
			t.Errorf("split(%q) = %q, %q, %v", tt.raw, server, tool, ok)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
