package containerd_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/containerd/containerd/api/services/tasks/v1"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/backendtest/parity"
	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/internal/testrig"
)

func TestParityAsRoot(t *testing.T) { inParity(t, testrig.ContainerdAsRoot(t)) }

func TestParityRootless(t *testing.T) { inParity(t, testrig.ContainerdRootless(t)) }

func inParity(t *testing.T, b *containerd.Backend) {
	const ref = "localhost/berth-parity:1"
	img := backendtest.NewImage(t, testrig.Probe(t), nil).WithWorker(t, testrig.Worker(t))
	if _, err := b.ImportImage(t.Context(), ref, img.Layout(t)); err != nil {
		t.Fatal(err)
	}
	e := parity.Engine{Backend: b, Image: ref, Allowed: allowed(t, b)}
	bundles := bundlesOf(t, b, e)
	e.Config = func(t *testing.T, id string) []byte {
		config, err := os.ReadFile(bundles + "/" + id + "/config.json")
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	t.Run("whole", func(t *testing.T) { parity.Run(t, e) })
	if b.FirstIDs() == nil {
		return // the spec of a rootless engine's shard has nothing in it that isn't in one of root's
	}
	t.Run("taken out", func(t *testing.T) { takenOut(t, b, e) })
}

// reasoned is a pattern of fields, with the reason for what is said of them.
type reasoned struct{ field, why string }

func anyOf(list []reasoned, field string) bool {
	return slices.ContainsFunc(list, func(r reasoned) bool { return parity.Matches(r.field, field) })
}

// unprotected are the fields of a spec that aren't taken out of what is sent, each with the reason.
var unprotected = []reasoned{
	{"ociVersion", "the format's"},
	{"hostname", "a name"},
	{"process", "each of its parts is"},
	{"process.user", "each of its parts is"},
	{"process.args", "what runs, not what it may"},
	{"process.cwd", "where it runs, not what it may"},
	{"process.env*", "a variable is lost, and none won"},
	{"process.rlimits", "each of them is"},
	{"process.rlimits[*].*", "the whole limit is"},
	{"root", "read-only is"},
	{"root.path", "the engine puts its own there"},
	{"mounts", "each of them is"},
	{"mounts[*].source", "the kernel's own file systems and tmpfs have none"},
	{"mounts[*].type", "without one there's no mount"},
	{"mounts[*].destination", "without one there's no mount"},
	{"mounts[*].options", "each of them is"},
	{"mounts[*].options[*atime]", "when times are written"},
	{"mounts[/dev/pts].options[newinstance]", "the kernel's only way by now"},
	{"mounts[/dev/pts].options[ptmxmode]", "without it nobody but root has a terminal"},
	{"linux", "each of its parts is"},
	{"linux.namespaces", "each of them is"},
	{"linux.namespaces[*].type", "the whole namespace is"},
	{"linux.uidMappings[*]*", "the whole mapping is"},
	{"linux.gidMappings[*]*", "the whole mapping is"},
	{"linux.resources", "each of its parts is"},
	{"linux.resources.memory", "each of its parts is"},
	{"linux.resources.pids", "each of its parts is"},
	{"linux.resources.cpu", "each of its parts is"},
	{"linux.resources.devices[*]*", "the whole list is, which is one rule"},
	{"linux.maskedPaths", "each of them is"},
	{"linux.readonlyPaths", "each of them is"},
	{"linux.seccomp.architectures[*]", "all together are"},
	{"linux.seccomp.syscalls[*]*", "all together are; each by itself is in package parity's own test"},
}

// refused are those without which runc starts nothing, with a word of what it says.
var refused = map[string]string{
	"linux.gidMappings":            "no gid mappings",
	"linux.uidMappings":            "no uid mappings",
	"linux.namespaces[ipc]":        "mqueue",
	"linux.namespaces[mount]":      "without a private MNT namespace",
	"linux.namespaces[network]":    "sysfs",
	"linux.namespaces[pid]":        "mounting \"proc\"",
	"linux.namespaces[uts]":        "without a private UTS namespace",
	"linux.resources.memory.limit": "memsw", // cgroup v1: no limit of both together without one of memory
	"linux.seccomp.defaultAction":  "not a valid action",
	"linux.seccomp.syscalls":       "", // it ends somewhere on the way, as it may do nothing
	"mounts[/proc]":                "/proc/self/fd",
}

// unseen are the fields whose loss the shard's self-check doesn't find, each with the reason.
var unseen = []reasoned{
	{"process.capabilities", "a process that isn't root is given none then"},
	{"process.user.umask", "a shard has one user"},
	{"linux.cgroupsPath", "the runtime takes another cgroup that is the shard's own"},
	{"linux.resources.*", "limits are checked apart from protections"},
	{"linux.resources.devices", "the user namespace lets nobody make a device"},
	{"linux.rootfsPropagation", "found where the engine's /dev is a shared mount"},
	{"linux.seccomp.architectures", "calls of an architecture that isn't told are refused"},
	{"linux.seccomp.defaultErrnoRet", "EPERM is the default"},
	{"linux.maskedPaths[/proc/a*]", onlyWhere},
	{"linux.maskedPaths[/proc/i*]", onlyWhere},
	{"linux.maskedPaths[/proc/kcore]", onlyWhere},
	{"linux.maskedPaths[/proc/l*]", onlyWhere},
	{"linux.maskedPaths[/proc/s*]", onlyWhere},
	{"linux.maskedPaths[/proc/t*]", onlyWhere},
	{"linux.maskedPaths[/sys/*]", onlyWhere},
	{"linux.readonlyPaths[/proc/sysrq-trigger]", onlyWhere},
	{"mounts[*].options[mode]", "runc before 1.2 takes the mode of the image's folder, which is the same"},
	{"mounts[/dev].options[size]", "what is in there is the runtime's"},
	{"mounts[/sys/fs/cgroup].options[no*]", "the runtime mounts those of cgroup v1 with options of its own"},
}

const onlyWhere = "found where the machine has it and lets a user use it"

// takenOut takes each protection out of what is sent to containerd, one at a time, compares, and has the shard
// look.
func takenOut(t *testing.T, b *containerd.Backend, e parity.Engine) {
	for _, field := range sentFields(t, b, e) {
		if anyOf(unprotected, field) {
			continue
		}
		t.Run(field, func(t *testing.T) {
			b.SetEditSpec(func(s *specs.Spec) {
				without, err := parity.Without(s, field)
				if err != nil {
					t.Error(err)
					return
				}
				*s = *without
			})
			t.Cleanup(func() { b.SetEditSpec(nil) })
			s, err := e.Start(t)
			if err != nil {
				if says, ok := refused[field]; !ok || !strings.Contains(err.Error(), says) {
					t.Errorf("starting: %v", err)
				}
				return
			}
			if d := e.Differences(t, s); !parity.Names(d, field) {
				t.Errorf("it isn't among the differences: %v", d)
			}
			if anyOf(unseen, field) {
				return
			}
			if missing := parity.Missing(t, s); len(missing) == 0 {
				t.Error("the shard doesn't find it missing")
			}
		})
	}
}

// sentFields are those of the spec as it's sent.
func sentFields(t *testing.T, b *containerd.Backend, e parity.Engine) []string {
	t.Helper()
	var fields []string
	b.SetEditSpec(func(s *specs.Spec) {
		var err error
		if fields, err = parity.Fields(s); err != nil {
			t.Error(err)
		}
	})
	defer b.SetEditSpec(nil)
	e.Started(t)
	return fields
}

// foreignArchs are those that no program of the machine calls by.
var foreignArchs = map[string][]string{
	"amd64": {"SCMP_ARCH_X32", "SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"},
	"arm64": {"SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"},
}

// allowed is what a shard's spec becomes on containerd, each with why nothing is lost.
func allowed(t *testing.T, b *containerd.Backend) []parity.Allowed {
	t.Helper()
	all := parity.Limits(t, b, "memory", "pids", "cpu")
	if path := b.CgroupsPath("*"); path != "" {
		all = append(all, parity.Allowed{Field: "linux.cgroupsPath", Got: strconv.Quote(path), Why: "a cgroup of the shard's own"})
	}
	for _, arch := range foreignArchs[runtime.GOARCH] {
		all = append(all, parity.Allowed{Field: "linux.seccomp.architectures[" + arch + "]", Got: parity.Absent, Why: "no program of this machine calls by it, and a thread that did would be killed"})
	}
	first := b.FirstIDs()
	if first == nil { // the engine is in a user namespace of its own
		return all
	}
	all = append(all,
		parity.Allowed{Field: "linux.namespaces[user]", Got: "{}", Why: "root's engine: the shard's ids aren't the machine's"},
		parity.Allowed{Field: "linux.namespaces[user].type", Got: `"user"`, Why: "the same"},
	)
	for i, ids := range []string{"linux.uidMappings[0]", "linux.gidMappings[0]"} {
		for field, got := range map[string]string{"": "{}", ".containerID": "0", ".hostID": fmt.Sprint(first[i]), ".size": "65536"} {
			all = append(all, parity.Allowed{Field: ids + field, Got: got, Why: "the mapping of the shard's user namespace"})
		}
	}
	return all
}

// bundlesOf gives the folder that has a bundle for each shard. It's above the working folder of a shim, which
// is the parent of a PID 1.
func bundlesOf(t *testing.T, b *containerd.Backend, e parity.Engine) string {
	t.Helper()
	task, err := b.TaskService().Get(t.Context(), &tasks.GetRequest{ContainerID: e.Started(t).ID()})
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", task.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "\nPPid:")
	shim, _, _ := strings.Cut(after, "\n")
	return fmt.Sprintf("/proc/%s/cwd/..", strings.TrimSpace(shim))
}
