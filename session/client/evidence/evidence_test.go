package evidence

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client/rollout"
)

const secret = "tok-0123456789abcdef"

func newFolder(t *testing.T) *Folder {
	t.Helper()
	r := &redact.Set{}
	r.Add(secret)
	return &Folder{Root: t.TempDir(), Name: "../a case", Redact: r}
}

// TestFolder: text is redacted, a picture isn't touched, and each is described as it was kept.
func TestFolder(t *testing.T) {
	f := newFolder(t)
	record := filepath.Join(t.TempDir(), "rollout-1.jsonl")
	say := func(w io.Writer) error { _, err := io.WriteString(w, "a "+secret); return err }
	if err := os.WriteFile(record, []byte("b "+secret), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err1 := f.Record(record)
	_, err2 := f.Text("app.log", say)
	_, err3 := f.Raw("screenshot.png", say)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	want := []struct{ name, text string }{
		{"matched-rollout-1.jsonl", "b [redacted]"}, {"app.log", "a [redacted]"}, {"screenshot.png", "a " + secret},
	}
	for i, a := range f.Kept() {
		text, err := os.ReadFile(filepath.Join(f.Root, a.Path))
		if err != nil || string(text) != want[i].text || a.Bytes != int64(len(text)) || len(a.SHA256) != 64 {
			t.Errorf("%+v: %q, %v", a, text, err)
		}
		if filepath.Base(a.Path) != want[i].name || !strings.HasPrefix(a.Path, "case.._a_case-") {
			t.Errorf("path %s, want one of case.._a_case- that ends with %s", a.Path, want[i].name)
		}
	}
	if len(f.Kept()) != len(want) {
		t.Errorf("kept %v", f.Kept())
	}
}

// TestUnsafeRecord: nothing that an agent put in a record's place is copied.
func TestUnsafeRecord(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(path string) error
		want error
	}{
		"a link":    {func(p string) error { return os.Symlink("/etc/hostname", p) }, syscall.ELOOP},
		"a pipe":    {func(p string) error { return syscall.Mkfifo(p, 0o600) }, rollout.ErrUnsafeFile},
		"two names": {func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o600), os.Link(p, p+"2")) }, rollout.ErrUnsafeFile},
		"too large": {func(p string) error {
			return errors.Join(os.WriteFile(p, nil, 0o600), os.Truncate(p, rollout.MaxSize+1))
		}, rollout.ErrTooLarge},
		"not there": {func(string) error { return nil }, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			path := filepath.Join(t.TempDir(), "rollout-1.jsonl")
			if err := tc.make(path); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Record(path); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if left, _ := filepath.Glob(filepath.Join(f.Root, "*", "*")); len(left) != 0 || len(f.Kept()) != 0 {
				t.Errorf("kept %v", left)
			}
		})
	}
}
