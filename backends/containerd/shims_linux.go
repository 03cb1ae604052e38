package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"
)

// shim is a process that the engine starts for a shard's task.
type shim struct {
	pid   int
	shard string
	// lost: the engine has removed its folder and knows it no more. That happens when a client hangs up
	// while the engine waits for the shim to start: this one has nothing to do, and never ends.
	lost bool
}

// endShims ends the lost ones of a shard that has no task, and tells whether there were any at all. One that
// isn't lost the engine is still starting, maybe for a berth that was killed, or still ending.
func (b *Backend) endShims(shard string) (found bool, err error) {
	for _, s := range b.shims() {
		if s.shard != shard {
			continue
		}
		found = true
		if s.lost {
			err = errors.Join(err, b.endShim(s))
		}
	}
	return found, err
}

// endLostShims ends those whose shards are gone.
func (b *Backend) endLostShims(ctx context.Context) error {
	var failed []error
	for _, s := range b.shims() {
		if !s.lost {
			continue
		}
		_, err := b.ContainerService().Get(ctx, s.shard)
		if errdefs.IsNotFound(err) {
			err = b.endShim(s)
		}
		failed = append(failed, explain(err))
	}
	return errors.Join(failed...)
}

// endShim ends a lost one, with its socket.
func (b *Backend) endShim(s shim) error {
	// The handle is taken before the second look, so that it's no other process's pid by now.
	p, err := os.FindProcess(s.pid)
	if err != nil {
		return fmt.Errorf("ending shim %d: %w", s.pid, err)
	}
	if !slices.Contains(b.shims(), s) {
		return nil
	}
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ending shim %d: %w", s.pid, err)
	}
	return b.engine.removeSocket(s.shard)
}

// shims are those of this engine, in berth's namespace, as far as they're seen from here.
func (b *Backend) shims() (found []shim) {
	pid, _ := peer(b.engine.socket())
	engine, err := mountNamespace(int(pid))
	if err != nil {
		return nil // it isn't seen from here, and nor are they
	}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is a good one
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if s, ok := b.engine.shim(pid); ok {
			// Another user's engine may have the same address.
			if ns, err := mountNamespace(pid); err == nil && ns == engine {
				found = append(found, s)
			}
		}
	}
	return found
}

// shim reads a process's arguments, which the engine has given it.
func (e engine) shim(pid int) (s shim, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return s, false // gone
	}
	args := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
	after := func(flag string) string {
		i := slices.Index(args, flag)
		if i < 0 || i+1 >= len(args) {
			return ""
		}
		return args[i+1]
	}
	if !strings.HasPrefix(filepath.Base(args[0]), "containerd-shim") || after("-namespace") != Namespace || after("-address") != e.address {
		return s, false
	}
	s = shim{pid: pid, shard: after("-id")}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	folder, gone := strings.CutSuffix(filepath.Base(cwd), " (deleted)")
	s.lost = err == nil && gone && strings.TrimPrefix(folder, ".") == s.shard // renamed before it's removed
	return s, s.shard != ""
}

func mountNamespace(pid int) (ns uint64, err error) {
	if pid <= 0 {
		return 0, os.ErrNotExist
	}
	var st unix.Stat_t
	err = unix.Stat(fmt.Sprintf("/proc/%d/ns/mnt", pid), &st)
	return st.Ino, err
}
