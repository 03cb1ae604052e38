package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// cache keeps layers and packages outside the source tree, by content:
//
//	lock                  flock, held by the one build that may write
//	blobs/sha256/<hex>    layers, tars
//	keys/<name>.json      what a layer was made of, and which blob it is
//	npm/<hex>.tgz         packages by their integrity
//	tmp/                  whatever is being written; all of it belongs to the lock's holder
//
// A file gets its name by a rename when it is whole. Nothing is synced to disk for that: a blob is
// hashed again before each use, so one that a power cut spoilt is built again. Removing the cache,
// or any part of it, is always safe while nothing builds.
type cache struct {
	dir string
	// held is the lock's file.
	held *os.File
}

// entry is a keys/<name>.json.
type entry struct {
	// Digest is the layer's hex sha256; layers aren't compressed, so it's the diff id as well.
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	// Input tells what the layer was made of where the name doesn't.
	Input string `json:"input,omitempty"`
	// Packages are Debian's, as name=version, sorted.
	Packages []string `json:"packages,omitempty"`
}

// defaultCacheDir is $XDG_CACHE_HOME/berth, on any system.
func defaultCacheDir() (string, error) {
	if d := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "berth"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("%w a cache directory: set XDG_CACHE_HOME or HOME: %w", ErrPrerequisite, err)
	}
	return filepath.Join(home, ".cache", "berth"), nil
}

// openCache takes the cache for this build alone, waiting for another build's end. It removes what
// a build that was killed left in tmp.
func openCache(ctx context.Context, dir string, report *reporter) (*cache, error) {
	for _, d := range []string{"blobs/sha256", "keys", "npm", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, storageError(dir, err)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, storageError(dir, err)
	}
	c := &cache{dir: dir, held: f}
	if err := flock(ctx, f, func() { report.emit(Event{Step: StepWait, Detail: "another set-up is running"}) }); err != nil {
		f.Close()
		return nil, err
	}
	if err := c.clean(ctx); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// lockRetry is how often a held lock is tried again: flock itself can't be cancelled.
const lockRetry = 100 * time.Millisecond

func flock(ctx context.Context, f *os.File, waiting func()) error {
	tick := time.NewTicker(lockRetry)
	defer tick.Stop()
	for first := true; ; first = false {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		if first {
			waiting()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *cache) close() error { return c.held.Close() }

func (c *cache) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}

func (c *cache) blob(digest string) string { return c.path("blobs", "sha256", digest) }

func (c *cache) key(name string) string { return c.path("keys", name+".json") }

// clean empties tmp, and removes blobs that never got a key.
func (c *cache) clean(ctx context.Context) error {
	left, err := os.ReadDir(c.path("tmp"))
	if err != nil {
		return err
	}
	for _, e := range left {
		name := c.path("tmp", e.Name())
		if outside, err := os.Readlink(name); err == nil {
			if err := c.removeOutside(ctx, outside); err != nil {
				return err
			}
			continue
		}
		if err := os.RemoveAll(name); err != nil {
			return err
		}
	}
	blobs, err := os.ReadDir(c.path("blobs", "sha256"))
	if err != nil {
		return err
	}
	for _, e := range blobs {
		if err := c.prune(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// outsideDir makes a directory in the system's own place for temporary files: mmdebstrap works under
// subordinate ids, which can't reach into a private home. A link in tmp keeps track of it.
func (c *cache) outsideDir() (string, error) {
	dir, err := os.MkdirTemp("", "berth-rootfs-")
	if err != nil {
		return "", storageError(os.TempDir(), err)
	}
	if err := os.Symlink(dir, c.path("tmp", filepath.Base(dir))); err != nil {
		return "", errors.Join(storageError(c.dir, err), os.Remove(dir))
	}
	return dir, os.Chmod(dir, 0o711)
}

// removeOutside removes what outsideDir made.
func (c *cache) removeOutside(ctx context.Context, dir string) error {
	if err := removeTree(ctx, dir); err != nil {
		return err
	}
	return os.Remove(c.path("tmp", filepath.Base(dir)))
}

// removeTree removes a tree, even one that mmdebstrap left: its files belong to subordinate ids,
// which only a user namespace with the same ids can remove. The folder itself is this user's, so
// what is in it has to be named to the helper, which can't list it.
func removeTree(ctx context.Context, path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	inside, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	args := []string{"--unshare-helper", "rm", "-rf", "--"}
	for _, e := range inside {
		args = append(args, filepath.Join(path, e.Name()))
	}
	// It fails in any case, for it can't remove the uppermost folders; these are empty then.
	out, _ := exec.CommandContext(context.WithoutCancel(ctx), "mmdebstrap", args...).CombinedOutput()
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove what a build left: %w: %s", err, firstLine(out))
	}
	return nil
}
