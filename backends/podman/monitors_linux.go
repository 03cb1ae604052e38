package podman

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// reapFor bounds the wait for their end: a podman that cleans up takes its time on a busy machine.
	reapFor   = time.Minute
	reapPause = 10 * time.Millisecond
)

// reapMonitors kills the conmon processes of a container that is gone, of this user, until there is
// none: what they still had to do was to clean up after it. Where one has begun to, with a podman of
// its own that may hold locks, it's waited for.
func reapMonitors(containerID string) error {
	for late := time.Now().Add(reapFor); time.Now().Before(late); time.Sleep(reapPause) {
		left, err := killMonitors(containerID)
		if err != nil || !left {
			return err
		}
	}
	return fmt.Errorf("processes of container %.12s are left", containerID)
}

// killMonitors does one round and tells whether there was anything.
func killMonitors(containerID string) (found bool, err error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return false, err
	}
	for _, dir := range dirs {
		switch roleOf(dir, containerID) {
		case cleaner:
			found = true
		case monitor:
			found = true
			if err := killIf(dir, containerID); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

func killIf(dir, containerID string) error {
	pid, err := strconv.Atoi(filepath.Base(dir))
	if err != nil {
		return err
	}
	// The handle is taken before the second look, so that it's no other process's pid by now.
	p, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("ending conmon %d: %w", pid, err)
	}
	if roleOf(dir, containerID) != monitor {
		return nil
	}
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ending conmon %d: %w", pid, err)
	}
	return nil
}

type role int

const (
	stranger role = iota
	monitor       // conmon … -c ID …
	cleaner       // podman … container cleanup … ID
)

// roleOf tells what a process of this user has to do with the container, by its arguments.
func roleOf(dir, containerID string) role {
	args := arguments(dir)
	if !slices.Contains(args, containerID) || !owned(dir) {
		return stranger
	}
	switch filepath.Base(args[0]) {
	case "conmon":
		if following(args, "-c") == containerID {
			return monitor
		}
	case "podman":
		if i := slices.Index(args, "cleanup"); i > 1 && args[i-1] == "container" && slices.Contains(args[i:], containerID) {
			return cleaner
		}
	}
	return stranger
}

// arguments are a process's, none of one that is gone.
func arguments(dir string) []string {
	b, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	return strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
}

// following gives the argument after the first that is flag, "" without one.
func following(args []string, flag string) string {
	if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

func owned(dir string) bool {
	fi, err := os.Stat(dir)
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
