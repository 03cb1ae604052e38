package leak

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The insides of shards belong to subordinate ids of the user, which only a process in the user's own
// namespace may read; what the user runs outside of it only one that is outside as well. So the test's
// binary runs itself there by `podman unshare`, with envDump set, and sends what there is as a tar
// stream. It's told folders, never secrets.
const envDump = "BERTH_LEAK_DUMP"

func init() {
	spec, ok := os.LookupEnv(envDump)
	if !ok {
		return
	}
	if err := dump(os.Stdout, spec); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Machine looks through the argument lists and environments of all processes of this user and the
// user's shards ("process <pid> <name>: environ"), and through folders by name.
func (s *Scanner) Machine(ctx context.Context, folders map[string]string) error {
	outside, w := io.Pipe()
	go func() {
		t := tar.NewWriter(w)
		err := dumpProcesses(t, os.Getuid())
		if err == nil { // an end mark would hide that it broke off
			err = t.Close()
		}
		w.CloseWithError(err)
	}()
	if err := s.dumped(outside); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	spec, err := json.Marshal(folders)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "podman", "unshare", self)
	cmd.Env = append(os.Environ(), envDump+"="+string(spec))
	return s.output(cmd, s.dumped)
}

func (s *Scanner) dumped(out io.Reader) error {
	t := tar.NewReader(out)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Stream(h.Name, t); err != nil {
			return err
		}
	}
}

// dump is the other side.
func dump(out io.Writer, spec string) error {
	var folders map[string]string
	if err := json.Unmarshal([]byte(spec), &folders); err != nil {
		return err
	}
	w := tar.NewWriter(out)
	if err := dumpProcesses(w, root); err != nil {
		return err
	}
	for name, dir := range folders {
		if err := dumpFolder(w, name, dir); err != nil {
			return err
		}
	}
	return w.Close()
}

// root is the user in the user's own namespace.
const root = 0

// dumpProcesses sends those of one user, or for root in a user's namespace those of all ids there.
func dumpProcesses(w *tar.Writer, uid int) error {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if filepath.Base(dir) == strconv.Itoa(os.Getpid()) {
			continue
		}
		if err := dumpIfTheirs(w, dir, uid); err != nil {
			return err
		}
	}
	return nil
}

// dumpIfTheirs sends a process if it's one of uid's. What a look tells is only as good as its moment:
// a fork of Podman's becomes newuidmap, which is root's, and a runtime is unreadable until it's the
// program that it starts. So one that may not be read is looked at again, for a second. One that may
// not be read for longer shows nobody but root anything: the kernel hides it from its own user.
func dumpIfTheirs(w *tar.Writer, dir string, uid int) error {
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		owner := ownerOf(dir)
		if owner == nobody || uid != root && owner != uid {
			return nil
		}
		err := dumpProcess(w, dir)
		if err == nil || gone(err) {
			return nil
		}
		if !errors.Is(err, fs.ErrPermission) {
			return err
		}
		if uid == root && owner == root || !sharesNamespace(dir) {
			return nil // it's in another namespace: looked at from there, or no shard's
		}
	}
	return nil
}

// sharesNamespace tells whether a process is in this one's user namespace, by its map of ids, which
// anybody may read: seen from another namespace it reads otherwise. The user's subordinate ids are in
// use outside of Podman's too, where a root file system is built, say.
func sharesNamespace(dir string) bool {
	own, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return true
	}
	its, err := os.ReadFile(dir + "/uid_map")
	return !gone(err) && (err != nil || bytes.Equal(own, its))
}

func dumpProcess(w *tar.Writer, dir string) error {
	name, err := os.ReadFile(dir + "/comm")
	if err != nil {
		return err
	}
	for _, file := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		place := fmt.Sprintf("process %s %s: %s", filepath.Base(dir), strings.TrimSpace(string(name)), file)
		if err := put(w, place, text); err != nil {
			return err
		}
	}
	return nil
}

// nobody is who owns what no id stands for.
const nobody = 65534

func ownerOf(path string) int {
	info, err := os.Stat(path)
	if err != nil {
		return nobody
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nobody
	}
	return int(st.Uid)
}

func dumpFolder(w *tar.Writer, place, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if gone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := put(w, place+": names", []byte(rel)); err != nil {
			return err
		}
		var text []byte
		switch d.Type() {
		case 0:
			text, err = os.ReadFile(path)
		case fs.ModeSymlink:
			var target string
			target, err = os.Readlink(path)
			text = []byte(target)
		default:
			return nil
		}
		if gone(err) {
			return nil
		}
		return errors.Join(err, put(w, place+": "+rel, text))
	})
}

func put(w *tar.Writer, name string, text []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600}); err != nil {
		return err
	}
	_, err := w.Write(text)
	return err
}

// gone: a process or a file that ended while it was looked at, or a zombie.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}
