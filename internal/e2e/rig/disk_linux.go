package rig

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// SmallDisk gives a folder on a file system of its own, of a size as mount(8) has it. It is in a
// namespace of some process's, which anybody of this user reaches through that.
func SmallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("sh", "-ec", `mount -t tmpfs -o mode=0700,size="$1" tmpfs "$2"; echo up; exec cat`, "sh", size, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid := os.Getuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	} else {
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS // private, so that it is nobody else's
		cmd.SysProcAttr.Cloneflags = 0
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("this host allows no user namespaces; set kernel.unprivileged_userns_clone=1: %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("%s: %q, %v", cmd, line, err)
	}
	return fmt.Sprintf("/proc/%d/root%s", cmd.Process.Pid, dir)
}
