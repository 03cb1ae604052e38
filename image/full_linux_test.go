package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() { children["full"] = childFullDisk }

// TestFullDisk builds in a file system of 1 MiB, mounted in a user namespace.
func TestFullDisk(t *testing.T) {
	overlay := t.TempDir()
	writeFile(t, filepath.Join(overlay, "opt/big"), strings.Repeat("x", 4<<20), 0o644)
	cmd := child(t, "full", "CACHE="+t.TempDir(), "OVERLAY="+overlay, "WORKER="+workerFile(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := string(out); !strings.HasPrefix(got, "no space: true, left: []") {
		t.Errorf("got %q", got)
	}
}

func childFullDisk() {
	dir := os.Getenv("CACHE")
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		panic(err)
	}
	p, err := newPlan(Recipe{Client: "codex", Worker: os.Getenv("WORKER"), Overlay: os.Getenv("OVERLAY")})
	if err != nil {
		panic(err)
	}
	c, err := openCache(context.Background(), dir, nil)
	if err != nil {
		panic(err)
	}
	_, err = (&build{plan: p, cache: c}).overlay(context.Background())
	var half []string
	for _, sub := range []string{"tmp", "keys", "blobs/sha256"} {
		left, globErr := filepath.Glob(filepath.Join(dir, sub, "*"))
		if globErr != nil {
			panic(globErr)
		}
		half = append(half, left...)
	}
	fmt.Printf("no space: %v, left: %v (%v)", errors.Is(err, ErrNoSpace) && errors.Is(err, syscall.ENOSPC), half, err)
}
