package selfcheck

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMasked(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "kcore")
	if err := os.WriteFile(file, nil, 0o000); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o555); err != nil {
		t.Fatal(err)
	}
	on := func(p, options string) mountTable {
		return table(t, "9 1 0:9 / "+p+" "+options+" - tmpfs tmpfs rw")
	}
	for name, tt := range map[string]struct {
		mounts mountTable
		path   string
		want   string
	}{
		"not in this kernel":        {nil, filepath.Join(dir, "none"), absent},
		"null device":               {nil, "/dev/null", ""},
		"another device":            {nil, "/dev/zero", "visible"},
		"unreadable file":           {nil, file, "visible"},
		"empty directory":           {nil, empty, "visible"},
		"empty file system":         {on(empty, "ro"), empty, ""},
		"writable file system":      {on(empty, "rw"), empty, "writable"},
		"file system with contents": {on(dir, "ro"), dir, "2 entries"},
	} {
		if got := tt.mounts.masked(tt.path); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestReadonly(t *testing.T) {
	dir := t.TempDir()
	if got := readonly(dir); got != "writable" {
		t.Errorf("%s: %q", dir, got)
	}
	if got := readonly(filepath.Join(dir, "none")); got != absent {
		t.Errorf("missing: %q", got)
	}
}

func TestIsDevice(t *testing.T) {
	for p, want := range map[string]bool{"/dev/null": true, "/dev/full": true, "/dev/ptmx": false, "/dev": false, "/dev/none": false} {
		if got := isDevice(p); got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
	link := filepath.Join(t.TempDir(), "zero")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	if isDevice(link) {
		t.Error("a link counts as the device it points to")
	}
}
