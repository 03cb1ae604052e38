package results

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/shardproto"
)

const onSmallDisk = "BERTH_TEST_SMALL_DISK"

// TestDiskFull fills a real, small file system, in a mount namespace of its own.
func TestDiskFull(t *testing.T) {
	if dir := os.Getenv(onSmallDisk); dir != "" {
		fillDisk(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestDiskFull$", "-test.v")
	cmd.Env = append(os.Environ(), onSmallDisk+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skip("this host allows no user namespaces; set kernel.unprivileged_userns_clone=1")
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func fillDisk(t *testing.T, dir string) {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
	}
	e := sampleEval(t, false)
	r := newRun(t, e, filepath.Join(dir, "eval"), start)
	saved := map[shardproto.Key]bool{}
	var err error
	for n := range 1000 {
		k := shardproto.Key{Variant: "plain", CaseID: "sum", Trial: n}
		if err = r.SaveTrial(FromResult(r.Record().RunID, "d", k, answered(k))); err != nil {
			break
		}
		saved[k] = true
	}
	if !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "--resume") || len(saved) == 0 {
		t.Fatalf("after %d trials: %v", len(saved), err)
	}
	got, err := r.Trials()
	if err != nil || len(got) != len(saved) {
		t.Errorf("%d of %d trials can be read: %v", len(got), len(saved), err)
	}
	everything(t, dir)
}
