package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// watched says what is looked at of an engine that this process has started.
type watched struct {
	// process is the engine's program; monitor is that of what it runs for each shard, this user's.
	process, monitor string
	// folders have all that it keeps, as it sees them.
	folders []string
}

// held is what there is at one moment, with no shard up.
type held struct {
	descriptors, goroutines int
	memory                  int // RSS of this process, KiB
	engineDescriptors       int
	engineMemory            int // KiB
	monitors, mounts        int
	disk                    int // KiB
}

var heldHead = []string{
	"descriptors", "goroutines", "RSS, MiB", "engine's descriptors", "engine's RSS, MiB", "monitors", "mounts", "disk, MiB",
}

func (h held) cells() []string {
	mib := func(kib int) string { return fmt.Sprintf("%.1f", float64(kib)/1024) }
	return []string{
		strconv.Itoa(h.descriptors), strconv.Itoa(h.goroutines), mib(h.memory), strconv.Itoa(h.engineDescriptors),
		mib(h.engineMemory), strconv.Itoa(h.monitors), strconv.Itoa(h.mounts), mib(h.disk),
	}
}

// settled looks until the monitors are gone, and no more than calm.
func (e watched) settled(ctx context.Context) (held, error) {
	for late := time.Now().Add(calm); ; time.Sleep(100 * time.Millisecond) {
		if monitors := programs(e.monitor, own); len(monitors) == 0 || time.Now().After(late) {
			return e.look(ctx)
		}
		if ctx.Err() != nil {
			return held{}, context.Cause(ctx)
		}
	}
}

func (e watched) look(ctx context.Context) (held, error) {
	engine := programs(e.process, descendsFrom(os.Getpid()))
	if len(engine) == 0 {
		return held{}, fmt.Errorf("no %s runs below this process", e.process)
	}
	debug.FreeOSMemory()
	h := held{goroutines: runtime.NumGoroutine(), memory: resident(os.Getpid()), monitors: len(programs(e.monitor, own))}
	var err error
	if h.descriptors, err = descriptors(os.Getpid()); err != nil {
		return h, err
	}
	for _, pid := range engine {
		n, err := descriptors(pid)
		if err != nil {
			return h, err
		}
		h.engineDescriptors += n
		h.engineMemory += resident(pid)
	}
	inside := engine[len(engine)-1] // Podman's may be two, of which the inner has the engine's namespaces
	text, merr := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", inside))
	h.mounts = bytes.Count(text, []byte("\n"))
	h.disk, err = diskUsage(ctx, inside, e.folders)
	return h, errors.Join(merr, err)
}

// grown tells what is more at the end than at the first look, by more than what comes and goes.
func grown(all []held, shards int) error {
	first, last := all[0], all[len(all)-1]
	var failed []error
	for _, g := range []struct {
		what              string
		first, last, room int
	}{
		{"descriptors", first.descriptors, last.descriptors, 4},
		{"goroutines", first.goroutines, last.goroutines, 4},
		{"KiB of memory", first.memory, last.memory, first.memory/10 + 4<<10},
		// Podman's has some ten more with each shard, until its garbage is collected.
		{"descriptors of the engine's", first.engineDescriptors, last.engineDescriptors, 150},
		{"KiB of the engine's memory", first.engineMemory, last.engineMemory, first.engineMemory/4 + 16<<10},
		{"monitors", first.monitors, last.monitors, 0},
		{"mounts", first.mounts, last.mounts, 2},
		{"KiB on disk", first.disk, last.disk, 1<<10 + shards*diskEach},
	} {
		if g.last > g.first+g.room {
			failed = append(failed, fmt.Errorf("%s grew from %d to %d, %d more than may come and go", g.what, g.first, g.last, g.last-g.first-g.room))
		}
	}
	if last.monitors > 0 {
		failed = append(failed, fmt.Errorf("%d monitors are left", last.monitors))
	}
	return errors.Join(failed...)
}

// diskEach is what an engine's own logs and databases may take for each shard that it has ever had, in KiB:
// Podman writes its events to a file.
const diskEach = 8

// diskUsage adds up what folders take, in KiB, as the engine's root sees them.
func diskUsage(ctx context.Context, pid int, folders []string) (int, error) {
	args := append([]string{"--target=" + strconv.Itoa(pid), "--user", "--mount", "--preserve-credentials", "du", "-skc"}, folders...)
	out, err := exec.CommandContext(ctx, "nsenter", args...).Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	total, _, _ := strings.Cut(lines[len(lines)-1], "\t")
	kib, nerr := strconv.Atoi(total)
	if nerr != nil { // du fails for a file that goes meanwhile, too
		return 0, errors.Join(err, nerr)
	}
	return kib, nil
}

// podmanStorage is where the user's Podman keeps what it has.
func podmanStorage(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, "podman", "info", "--format={{.Store.GraphRoot}}\n{{.Store.RunRoot}}").Output()
	folders := strings.Fields(string(out))
	if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
		folders = append(folders, filepath.Join(run, "libpod"))
	}
	return folders, err
}

// programs are the processes of a program, oldest first, that are as asked for.
func programs(name string, is func(pid int) bool) (pids []int) {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is a good one
	for _, file := range found {
		text, _ := os.ReadFile(file) // gone: no arguments
		command, _, _ := strings.Cut(string(text), "\x00")
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if strings.HasPrefix(filepath.Base(command), name) && is(pid) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// own tells whether a process is this user's.
func own(pid int) bool {
	return strings.HasPrefix(colonField(fmt.Sprintf("/proc/%d/status", pid), "Uid"), strconv.Itoa(os.Getuid())+"\t")
}

func descendsFrom(ancestor int) func(pid int) bool {
	return func(pid int) bool {
		for pid > 1 {
			pid, _ = strconv.Atoi(colonField(fmt.Sprintf("/proc/%d/status", pid), "PPid"))
			if pid == ancestor {
				return true
			}
		}
		return false
	}
}

func descriptors(pid int) (int, error) {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(all), err
}

// resident is a process's RSS, in KiB.
func resident(pid int) int {
	kib, _, _ := strings.Cut(colonField(fmt.Sprintf("/proc/%d/status", pid), "VmRSS"), " ")
	n, _ := strconv.Atoi(kib)
	return n
}
