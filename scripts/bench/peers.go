package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/oci"
)

// Each peer gets the image, the process, the mounts, the limits and the protections of a shard, as far as
// its command line has a word for them.

func podmanBed(r *rig, s *specs.Spec) *cliBed {
	flags := r.cliFlags(s)
	return &cliBed{
		rig: r, prefix: []string{"podman"},
		run: func(name string) []string {
			return podmanRun(name, flags, r.image.Ref, announced(s.Process.Args)...)
		},
		execs:  func(name string) []string { return append([]string{"exec", name}, trivial...) },
		remove: func(name string) [][]string { return [][]string{{"rm", "--force", "--time=0", name}} },
	}
}

// dockerBed runs what was loaded into a Docker of its own; seccomp is the file with a shard's profile.
func dockerBed(r *rig, s *specs.Spec, docker []string, image, seccomp string) *cliBed {
	flags := []string{
		"--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--security-opt=seccomp=" + seccomp,
		"--read-only", "--shm-size=" + strconv.Itoa(oci.ShmBytes), "--hostname=" + s.Hostname,
		fmt.Sprintf("--user=%d:%d", oci.UID, oci.GID), "--ulimit=core=0:0", "--cgroupns=private", "--entrypoint=", "--workdir=" + s.Process.Cwd,
	}
	for _, e := range s.Process.Env {
		flags = append(flags, "--env="+e)
	}
	for _, m := range ownTmpfs(s) {
		flags = append(flags, "--tmpfs="+m.Destination+":"+strings.Join(m.Options, ","))
	}
	limit := strconv.FormatInt(*s.Linux.Resources.Memory.Limit, 10)
	flags = append(flags, "--memory="+limit, "--memory-swap="+limit, "--pids-limit="+strconv.FormatInt(*s.Linux.Resources.Pids.Limit, 10))
	return &cliBed{
		rig: r, prefix: docker,
		run: func(name string) []string {
			return slices.Concat([]string{"run", "--name=" + name}, flags, []string{image}, announced(s.Process.Args))
		},
		execs:  func(name string) []string { return append([]string{"exec", name}, trivial...) },
		remove: func(name string) [][]string { return [][]string{{"rm", "--force", name}} },
	}
}

// ctrBed is containerd's; enter gets to where its socket is.
func ctrBed(r *rig, s *specs.Spec, enter []string, socket, image, seccomp string, mapping *[2]string) *cliBed {
	flags := []string{"--rm", "--read-only", "--seccomp", "--seccomp-profile=" + seccomp, "--cwd=" + s.Process.Cwd}
	for _, c := range defaultCapabilities {
		flags = append(flags, "--cap-drop="+c)
	}
	for _, e := range s.Process.Env {
		flags = append(flags, "--env="+e)
	}
	for _, m := range ownTmpfs(s) {
		flags = append(flags, "--mount=type=tmpfs,src=tmpfs,dst="+m.Destination+",options="+strings.Join(m.Options, ":"))
	}
	if r.info.Capabilities.MemoryLimit {
		flags = append(flags, "--memory-limit="+strconv.FormatInt(*s.Linux.Resources.Memory.Limit, 10))
	}
	if mapping != nil {
		flags = append(flags, "--uidmap="+mapping[0], "--gidmap="+mapping[1])
	}
	if r.info.Rootless {
		flags = append(flags, "--cgroup=", "--cpu-shares=0") // it has none to give
	}
	return &cliBed{
		rig: r, prefix: append(enter, "ctr", "--address="+socket, "--namespace="+containerd.Namespace),
		run: func(name string) []string {
			return slices.Concat([]string{"run"}, flags, []string{image, name}, announced(s.Process.Args))
		},
		execs: func(name string) []string {
			return append([]string{"tasks", "exec", "--exec-id=" + r.name(), name}, trivial...)
		},
		remove: func(name string) [][]string { return [][]string{{"tasks", "kill", "--signal=SIGKILL", name}} },
		ends:   true,
	}
}

// defaultCapabilities are those that ctr gives without being asked.
var defaultCapabilities = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID", "CAP_SETUID",
	"CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL", "CAP_AUDIT_WRITE",
}

// ownTmpfs are a shard's own mounts, beside those that every engine makes.
func ownTmpfs(s *specs.Spec) []specs.Mount {
	return slices.DeleteFunc(slices.Clone(s.Mounts), func(m specs.Mount) bool {
		return m.Type != "tmpfs" || m.Destination == "/dev" || m.Destination == "/dev/shm"
	})
}

// writeSeccomp puts a shard's profile where command lines can read it.
func writeSeccomp(dir string) (string, error) {
	file := filepath.Join(dir, "seccomp.json")
	return file, os.WriteFile(file, oci.SeccompProfile(), 0o644)
}

// loadImage gives an engine the image that a file has.
func loadImage(ctx context.Context, b *containerd.Backend, ref, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = b.ImportImage(ctx, ref, f)
	return err
}
