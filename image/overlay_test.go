package image

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "opt/server/run"), "#!/bin/sh\n", 0o700)
	writeFile(t, filepath.Join(dir, "opt/server/data"), "x", 0o600)
	writeFile(t, filepath.Join(dir, "bin/tool"), "x", 0o755)
	writeFile(t, filepath.Join(dir, "lib/x86/so"), "x", 0o644)
	if err := os.Symlink("../opt/server/run", filepath.Join(dir, "bin/serve")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "bin/tool"), 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := writeOverlay(&out, dir, 1); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0755 0:0 usr/bin/", "0777 0:0 usr/bin/serve -> ../opt/server/run", "0755 0:0 usr/bin/tool",
		"0755 0:0 usr/lib/", "0755 0:0 usr/lib/x86/", "0644 0:0 usr/lib/x86/so",
		"0755 0:0 opt/", "0755 0:0 opt/server/", "0644 0:0 opt/server/data", "0755 0:0 opt/server/run",
	}
	if got := listTar(t, &out); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOverlayRefuses(t *testing.T) {
	for name, says := range map[string]string{
		"tmp/x":              "mounted anew",
		"home/berth/.config": "mounted anew",
		"run/x":              "mounted anew",
		"var/run/x":          "mounted anew",
		"opt/.wh.x":          "reserved",
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, name), "x", 0o644)
		err := writeOverlay(new(bytes.Buffer), dir, 1)
		if !errors.Is(err, ErrRecipe) || !containsLine(err, says) {
			t.Errorf("%s: got %v, want ErrRecipe with %q", name, err, says)
		}
	}
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeOverlay(new(bytes.Buffer), dir, 1); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a pipe: got %v", err)
	}
}
