package podman_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/backendtest/parity"
	"github.com/berth-run/berth/backends/podman"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/oci"
)

// weaken takes one protection out of a create request. What the runtime is given must then differ in a field,
// or in a part of it, and caught are the checks of the shard's self-check that have to fail, by name.
type weaken struct {
	edit    func(*podman.CreateRequest)
	differs string
	caught  []string
	// refused: on a machine without that file, Podman itself doesn't take it and names the file.
	refused string
	// since is the first major version of Podman that has the field.
	since int
}

// hardening says of each field of the request what happens without it, or with what it keeps out: how that is
// tried, or why nothing is lost. A field that isn't here fails the test.
var hardening = map[string]struct {
	tried map[string]weaken
	none  string
}{
	"Name":          {none: "a name"},
	"Image":         {none: "see TestSelfCheckSeesProfile"},
	"Entrypoint":    {tried: one(func(r *podman.CreateRequest) { r.Entrypoint = []string{"/usr/libexec/../libexec/berth/probe"} }, "process.args")},
	"Command":       {tried: one(func(r *podman.CreateRequest) { r.Command = append(r.Command, "--") }, "process.args")},
	"WorkDir":       {tried: one(func(r *podman.CreateRequest) { r.WorkDir = "/tmp" }, "process.cwd")},
	"Terminal":      {tried: one(func(r *podman.CreateRequest) { r.Terminal = true }, "process.terminal")},
	"Init":          {none: "Podman's init, where it's installed, would be PID 1 with the same rights"},
	"Remove":        {none: "how long the container is kept"},
	"Env":           {tried: one(func(r *podman.CreateRequest) { r.Env["STRAY"] = "x" }, "process.env[STRAY]", "environment")},
	"UnsetEnvAll":   {tried: one(func(r *podman.CreateRequest) { r.UnsetEnvAll = false }, "process.env[FROM_IMAGE]", "environment")},
	"EnvHost":       {tried: one(func(r *podman.CreateRequest) { r.EnvHost = true }, "process.env[https_proxy]", "environment")},
	"HTTPProxy":     {tried: one(func(r *podman.CreateRequest) { r.HTTPProxy = true }, "process.env[https_proxy]", "environment")},
	"Hostname":      {tried: one(func(r *podman.CreateRequest) { r.Hostname = "other" }, "hostname")},
	"Labels":        {none: "names"},
	"Annotations":   {none: "names"},
	"Systemd":       {tried: one(func(r *podman.CreateRequest) { r.Systemd = "always" }, "mounts[/run]", "mounts:unexpected")},
	"SdNotifyMode":  {none: "who tells systemd that it's ready"},
	"RestartPolicy": {none: "whether it starts again"},
	"Log":           {none: "where the log is"},
	"User":          {tried: one(func(r *podman.CreateRequest) { r.User = "" }, "process.user.uid", "uid", "gid", "pid1:uid", "pid1:gid")},
	"Umask":         {tried: one(func(r *podman.CreateRequest) { r.Umask = "0000" }, "process.user.umask")}, // it has one user
	"Groups":        {tried: one(func(r *podman.CreateRequest) { r.Groups = []string{"27"} }, "process.user.additionalGids[1]", "groups", "pid1:groups")},
	"Passwd":        {none: "a line for the user in /etc/passwd, which the image has"},
	"CapDrop":       {tried: one(func(r *podman.CreateRequest) { r.CapDrop = nil }, "process.capabilities.bounding", "capabilities:bounding", "pid1:capabilities:bounding")},
	"CapAdd": {tried: one(func(r *podman.CreateRequest) { r.CapAdd = []string{"CAP_NET_RAW"} },
		"process.capabilities.bounding[CAP_NET_RAW]", "capabilities:bounding", "pid1:capabilities:bounding")},
	"NoNewPrivileges": {tried: one(func(r *podman.CreateRequest) { r.NoNewPrivileges = false }, "process.noNewPrivileges", "no_new_privs", "pid1:no_new_privs")},
	"Privileged":      {tried: one(func(r *podman.CreateRequest) { r.Privileged = true }, "linux.seccomp", "seccomp", "seccomp:unshare", "pid1:seccomp")},
	"SeccompPolicy":   {tried: one(func(r *podman.CreateRequest) { r.SeccompPolicy = "default" }, "linux.seccomp.syscalls", "seccomp:unshare")},
	"ApparmorProfile": {none: "a shard's spec has none, so the engine's own stays"},
	// Podman hides the same paths by itself, unless it's told not to.
	"Mask":     {tried: one(func(r *podman.CreateRequest) { r.Mask, r.Unmask = nil, []string{"ALL"} }, "linux.maskedPaths[/proc/keys]", "masked:/proc/keys", "masked:/sys/firmware")},
	"Unmask":   {tried: one(func(r *podman.CreateRequest) { r.Unmask = []string{"ALL"} }, "linux.readonlyPaths[/proc/sys]", "readonly:/proc/sys", "readonly:/proc/irq")},
	"ReadOnly": {tried: one(func(r *podman.CreateRequest) { r.ReadOnly = false }, "root.readonly", "mount:/:ro")},
	"ReadWriteTmpfs": {tried: map[string]weaken{"": {
		edit: func(r *podman.CreateRequest) { r.ReadWriteTmpfs = true }, differs: "mounts[/run]", caught: []string{"mounts:unexpected"}, since: 5,
	}}},
	"Mounts":            {tried: mounts()},
	"ImageVolumes":      {tried: one(func(r *podman.CreateRequest) { r.ImageVolumes = "tmpfs" }, "mounts[/from-image]", "mounts:unexpected")},
	"RootfsPropagation": {none: "Podman hands it to no runtime, and the runtimes' own is private; see a shared mount"},
	"Volatile":          {none: "whether writes are synced"},
	"PidNS":             {tried: one(func(r *podman.CreateRequest) { r.PidNS.Mode = "host" }, "linux.namespaces[pid]", "namespace:pid")},
	"UtsNS":             {tried: one(func(r *podman.CreateRequest) { r.UtsNS.Mode, r.Hostname = "host", "" }, "linux.namespaces[uts]", "namespace:uts")},
	"IpcNS": {tried: map[string]weaken{"": {
		edit: func(r *podman.CreateRequest) { r.IpcNS.Mode = "host" }, differs: "linux.namespaces[ipc]", caught: []string{"namespace:ipc"}, refused: "/dev/mqueue",
	}}},
	"CgroupNS": {tried: one(func(r *podman.CreateRequest) { r.CgroupNS.Mode = "host" }, "linux.namespaces[cgroup]", "namespace:cgroup")},
	"UserNS":   {none: "a rootless engine has no user namespace to give that maps more than its own"},
	"NetNS": {tried: map[string]weaken{
		"host":       {edit: func(r *podman.CreateRequest) { r.NetNS.Mode = "host" }, differs: "linux.namespaces[network]", caught: []string{"network", "namespace:net"}},
		"the engine": {edit: func(r *podman.CreateRequest) { r.NetNS.Mode = "" }, differs: "linux.namespaces[network].path", caught: []string{"network"}},
	}},
	"BaseHostsFile": {none: "names of the host's network, of no use without one"},
	"Sysctl":        {tried: one(func(r *podman.CreateRequest) { r.Sysctl = map[string]string{"net.ipv4.ip_forward": "1"} }, "linux.sysctl.net.ipv4.ip_forward")},
	"Resources": {tried: map[string]weaken{ // limits are checked apart from protections
		"memory": {edit: func(r *podman.CreateRequest) { r.Resources.Memory = nil }, differs: "linux.resources.memory"},
		"pids":   {edit: func(r *podman.CreateRequest) { r.Resources.Pids = nil }, differs: "linux.resources.pids"},
	}},
	"Rlimits":     {tried: one(func(r *podman.CreateRequest) { r.Rlimits = nil }, "process.rlimits[RLIMIT_CORE]", "core_dumps")},
	"OOMScoreAdj": {tried: one(func(r *podman.CreateRequest) { r.OOMScoreAdj = new(int); *r.OOMScoreAdj = 500 }, "process.oomScoreAdj")},
}

func one(edit func(*podman.CreateRequest), differs string, caught ...string) map[string]weaken {
	return map[string]weaken{"": {edit: edit, differs: differs, caught: caught}}
}

// mounts takes out each of the spec's mounts, and each option from all that have it.
func mounts() map[string]weaken {
	spec, err := oci.ShardSpec{}.Spec()
	if err != nil {
		panic(err) // constant input
	}
	lost := map[string]string{"/dev/shm": ":size"} // Podman then mounts one of its own
	all := map[string]weaken{}
	for _, m := range selfcheck.FromSpec(spec, backends.NetworkNone).Tmpfs {
		all["without "+m.Path] = weaken{edit: func(r *podman.CreateRequest) {
			r.Mounts = slices.DeleteFunc(r.Mounts, func(x specs.Mount) bool { return x.Destination == m.Path })
		}, differs: "mounts[" + m.Path + "]", caught: []string{"mount:" + m.Path + lost[m.Path]}}
	}
	for option, w := range map[string]struct{ instead, path, check string }{
		"nosuid": {"suid", oci.Home, "nosuid"}, "nodev": {"dev", oci.Home, "nodev"}, "noexec": {"exec", oci.RunDir, "noexec"},
		"mode": {"", oci.Home, "mode"}, "size": {"", oci.Home, "size"}, "U": {"", oci.Home, "uid"},
	} {
		all["option "+option] = weaken{
			edit:    editMountOption(option, w.instead),
			differs: fmt.Sprintf("mounts[%s].options[%s]", w.path, w.check),
			caught:  []string{"mount:" + w.path + ":" + w.check},
		}
	}
	all["a bind mount"] = weaken{edit: func(r *podman.CreateRequest) {
		r.Mounts = append(r.Mounts, specs.Mount{Destination: "/mnt", Type: "bind", Source: "/etc", Options: []string{"rbind"}})
	}, differs: "mounts[/mnt]", caught: []string{"mounts:unexpected"}}
	all["a shared mount"] = weaken{edit: func(r *podman.CreateRequest) {
		r.Mounts = append(r.Mounts, specs.Mount{Destination: "/mnt", Type: "bind", Source: "/etc", Options: []string{"rbind", "rshared"}})
	}, differs: "mounts[/mnt]", caught: []string{"mounts:propagation"}}
	return all
}

// editMountOption takes an option out of all mounts; Podman adds some by itself unless it's told the
// opposite.
func editMountOption(option, instead string) func(*podman.CreateRequest) {
	return func(r *podman.CreateRequest) {
		for i := range r.Mounts {
			kept := slices.DeleteFunc(slices.Clone(r.Mounts[i].Options), func(o string) bool {
				name, _, _ := strings.Cut(o, "=")
				return name == option
			})
			if len(kept) < len(r.Mounts[i].Options) && instead != "" {
				kept = append(kept, instead)
			}
			r.Mounts[i].Options = kept
		}
	}
}

// TestTakenOut takes each protection out of what is sent to Podman, one at a time: the runtime's config must
// differ there, and a real shard find it.
func TestTakenOut(t *testing.T) {
	fields := reflect.TypeFor[podman.CreateRequest]()
	for i := range fields.NumField() {
		if _, ok := hardening[fields.Field(i).Name]; !ok {
			t.Errorf("field %s: is it a protection, and which check finds it missing?", fields.Field(i).Name)
		}
	}
	r, expect := checkRig(t)
	if missing := r.missing(t, expect, nil); len(missing) > 0 {
		t.Fatalf("missing before anything is taken out: %v", missing)
	}
	for _, field := range slices.Sorted(maps.Keys(hardening)) {
		if _, ok := fields.FieldByName(field); !ok {
			t.Errorf("the request has no field %s", field)
		}
		h := hardening[field]
		if (h.none == "") == (h.tried == nil) {
			t.Errorf("%s: neither tried nor explained, or both", field)
		}
		for name, w := range h.tried {
			t.Run(strings.TrimSpace(field+" "+name), func(t *testing.T) { r.weakened(t, expect, w) })
		}
	}
}

// checkRig has the real worker in an image with an environment and a volume of its own, and a Podman
// whose service has variables that are no shard's business.
func checkRig(t *testing.T) (rig, selfcheck.Expect) {
	t.Helper()
	testrig.NeedRootless(t)
	t.Setenv("https_proxy", "http://user:password@127.0.0.1:9")
	b := testrig.Podman(t)
	r := newRigWith(t, b, backendtest.NewImage(t, testrig.Probe(t), nil).WithWorker(t, testrig.Worker(t)))
	spec, err := oci.ShardSpec{}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	expect := selfcheck.FromSpec(spec, backends.NetworkNone)
	expect.Foreign = selfcheck.OwnNamespaces()
	return r, expect
}

// weakened has a shard find what was taken out.
func (r rig) weakened(t *testing.T, expect selfcheck.Expect, w weaken) {
	t.Helper()
	info, err := r.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	major, err := strconv.Atoi(strings.Split(info.Version, ".")[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.refused); w.refused != "" && err != nil {
		r.edited(t, w.edit)
		_, err := r.Create(t.Context(), r.config(t, oci.ShardSpec{}))
		if err == nil || !strings.Contains(err.Error(), w.refused) {
			t.Errorf("Create: %v, want a word of %s", err, w.refused)
		}
		return
	}
	r.edited(t, w.edit)
	e := r.parity(t)
	s := e.Started(t)
	if major < w.since { // it ignores the field, as every one that it doesn't know
		w.differs, w.caught = "", nil
	}
	if d := e.Differences(t, s); w.differs == "" && len(d) > 0 || w.differs != "" && !parity.Names(d, w.differs) {
		t.Errorf("the config differs in %v, want %q", d, w.differs)
	}
	missing := selfcheck.Missing(parity.SelfCheck(t, s, expect).Protections)
	if w.caught == nil && len(missing) > 0 {
		t.Errorf("missing: %v", missing)
	}
	for _, name := range w.caught {
		if !slices.Contains(missing, name) {
			t.Errorf("%s isn't among what is missing: %v", name, missing)
		}
	}
}

// edited changes the create requests of this test.
func (r rig) edited(t *testing.T, edit func(*podman.CreateRequest)) {
	t.Helper()
	podman.SetEditCreate(r.Backend, edit)
	t.Cleanup(func() { podman.SetEditCreate(r.Backend, nil) })
}

// missing starts a shard by an edited request and gives what its self-check misses.
func (r rig) missing(t *testing.T, expect selfcheck.Expect, edit func(*podman.CreateRequest)) []string {
	t.Helper()
	r.edited(t, edit)
	return selfcheck.Missing(parity.SelfCheck(t, r.start(t, r.config(t, oci.ShardSpec{})), expect).Protections)
}

// TestSelfCheckSeesProfile brings an image with an allow-all profile in the label past Create, which
// would refuse it: the kernel says "Seccomp: 2" all the same.
func TestSelfCheckSeesProfile(t *testing.T) {
	r, expect := checkRig(t)
	ref := r.ref + "-allow-all"
	img := backendtest.NewImage(t, testrig.Probe(t), map[string]string{oci.SeccompLabel: `{"defaultAction":"SCMP_ACT_ALLOW"}`}).
		WithWorker(t, testrig.Worker(t))
	if _, err := r.ImportImage(t.Context(), ref, img.Layout(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.RemoveImage(context.Background(), ref); err != nil {
			t.Error(err)
		}
	})
	missing := r.missing(t, expect, func(c *podman.CreateRequest) { c.Image = ref })
	for _, name := range []string{"seccomp:unshare", "seccomp:mount", "seccomp:keyctl", "seccomp:socket:vsock"} {
		if !slices.Contains(missing, name) {
			t.Errorf("%s isn't among what is missing: %v", name, missing)
		}
	}
	if slices.Contains(missing, "seccomp") {
		t.Error("the kernel tells it by itself")
	}
}
