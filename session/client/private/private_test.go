package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(path string) error
		want error
	}{
		"a file":   {func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) }, nil},
		"nothing":  {func(string) error { return nil }, fs.ErrNotExist},
		"a link":   {func(p string) error { return os.Symlink("/etc/hostname", p) }, syscall.ELOOP},
		"a folder": {func(p string) error { return os.Mkdir(p, 0o700) }, ErrNotPlain},
		"a pipe":   {func(p string) error { return syscall.Mkfifo(p, 0o600) }, ErrNotPlain},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if err := tc.make(path); err != nil {
				t.Fatal(err)
			}
			f, _, err := Open(path)
			if !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if f != nil {
				f.Close()
			}
		})
	}
}

func TestSingleLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, want := range []bool{true, false} {
		if want {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Link(path, path+"2"); err != nil {
			t.Fatal(err)
		}
		f, info, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if SingleLink(info) != want {
			t.Errorf("single link %v, want %v", !want, want)
		}
	}
}

func TestCheckDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	check := func(want bool) {
		t.Helper()
		if err := CheckDir(dir); (err == nil) != want {
			t.Errorf("error %v, want one: %v", err, !want)
		}
	}
	check(false)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	check(true)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	check(false)
	if err := errors.Join(os.Chmod(dir, 0o700), os.Rename(dir, dir+"2"), os.Symlink(dir+"2", dir)); err != nil {
		t.Fatal(err)
	}
	check(false)
}

func TestRemoveAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700), os.Chmod(filepath.Join(dir, "a"), 0)); err != nil {
		t.Fatal(err)
	}
	if err := RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}
