package podman_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/podman"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/oci"
)

// rig is a Podman with the suite's image.
type rig struct {
	*podman.Backend
	ref string
}

func newRig(t *testing.T) rig {
	t.Helper()
	return newRigWith(t, testrig.Podman(t), backendtest.NewImage(t, testrig.Probe(t), nil))
}

func newRigWith(t *testing.T, b *podman.Backend, img backendtest.Image) rig {
	t.Helper()
	r := rig{b, "localhost/berth-podman-test:" + strings.ToLower(rand.Text())}
	if _, err := r.ImportImage(t.Context(), r.ref, img.Layout(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.RemoveImage(context.Background(), r.ref); err != nil {
			t.Errorf("removing the image: %v", err)
		}
	})
	return r
}

func (r rig) config(t *testing.T, s oci.ShardSpec) backends.Config {
	t.Helper()
	if s.Args == nil {
		s.Args = []string{backendtest.ProbePath, "pause"}
	}
	spec, err := s.Spec()
	if err != nil {
		t.Fatal(err)
	}
	return backends.Config{
		Name: "berth-podman-test-" + strings.ToLower(rand.Text()), Image: r.ref, Spec: spec, Network: backends.NetworkNone,
	}
}

// create makes a shard that goes with the test.
func (r rig) create(t *testing.T, c backends.Config) backends.Shard {
	t.Helper()
	s, err := r.Create(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Remove(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (r rig) start(t *testing.T, c backends.Config) backends.Shard {
	t.Helper()
	s := r.create(t, c)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func output(t *testing.T, s backends.Shard, args ...string) string {
	t.Helper()
	var out, stderr bytes.Buffer
	st, err := s.Exec(t.Context(), backends.Process{
		Args: append([]string{backendtest.ProbePath}, args...), Stdout: &out, Stderr: &stderr,
	})
	if err != nil || st.Code != 0 {
		t.Fatalf("%v: %v, %v: %s", args, st, err, stderr.Bytes())
	}
	return out.String()
}

// fields reads the lines of /proc/self/status.
func fields(status string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(status) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), ":")
		m[k] = strings.TrimSpace(v)
	}
	return m
}

// TestHardening looks at what the kernel says inside a shard, in PID 1 and in an exec'd process.
func TestHardening(t *testing.T) {
	r := newRig(t)
	c := r.config(t, oci.ShardSpec{})
	s := r.start(t, c)
	for _, pid := range []string{"1", "self"} {
		st := fields(output(t, s, "file", "/proc/"+pid+"/status"))
		for k, want := range map[string]string{
			"Uid": "1000\t1000\t1000\t1000", "Gid": "1000\t1000\t1000\t1000", "Groups": "1000",
			"NoNewPrivs": "1", "Seccomp": "2", "Umask": "0022",
			"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
		} {
			if k == "Groups" && (st[k] == "" || st[k] == "1000") {
				continue
			}
			if st[k] != want {
				t.Errorf("pid %s: %s is %q, want %q", pid, k, st[k], want)
			}
		}
	}
	checkEnv(t, s, c)
	checkMounts(t, s, c)
	if got := strings.Fields(output(t, s, "file", "/proc/net/dev")); !slices.Contains(got, "lo:") {
		t.Errorf("interfaces %v", got)
	} else if n := strings.Count(strings.Join(got, " "), ":"); n != 1 {
		t.Errorf("%d interfaces, want only lo", n)
	}
	if got := strings.TrimSpace(output(t, s, "file", "/proc/sys/kernel/hostname")); got != "berth" {
		t.Errorf("hostname %q", got)
	}
}

const none = "0000000000000000"

// checkEnv: PID 1's environment is the spec's, and what Podman always adds.
func checkEnv(t *testing.T, s backends.Shard, c backends.Config) {
	t.Helper()
	got := strings.Split(strings.TrimRight(output(t, s, "file", "/proc/1/environ"), "\x00"), "\x00")
	for _, want := range c.Spec.Process.Env {
		if !slices.Contains(got, want) {
			t.Errorf("PID 1 lacks %s", want)
		}
	}
	for _, v := range got {
		name, _, _ := strings.Cut(v, "=")
		if !slices.Contains(c.Spec.Process.Env, v) && name != "container" && name != "HOSTNAME" {
			t.Errorf("PID 1 has %s", v)
		}
	}
}

// checkMounts compares every tmpfs with the spec: owner, mode, size, options (podman#20754).
func checkMounts(t *testing.T, s backends.Shard, c backends.Config) {
	t.Helper()
	mounts := map[string]string{} // destination: options, file system, its options
	for line := range strings.Lines(output(t, s, "file", "/proc/self/mountinfo")) {
		f := strings.Fields(line)
		mounts[f[4]] = strings.Join(append([]string{f[5]}, f[slices.Index(f, "-")+1:]...), " ")
	}
	want := map[string][]string{"/": {"ro,", " overlay "}, "/sys": {"ro,", " sysfs "}, "/proc/sys": {"ro,", " proc "}}
	for _, m := range c.Spec.Mounts {
		if m.Type == "tmpfs" && m.Destination != "/dev" {
			want[m.Destination] = kernelOptions(t, m)
		}
	}
	for path, options := range want {
		for _, o := range options {
			if !strings.Contains(mounts[path], o) {
				t.Errorf("mount %s: %q lacks %q", path, mounts[path], o)
			}
		}
	}
	for _, path := range oci.MaskedPaths() {
		if _, err := os.Stat(path); err == nil && mounts[path] == "" {
			t.Errorf("%s isn't masked", path)
		}
	}
	for _, path := range []string{oci.RunDir, oci.Home, "/tmp", "/run/user/1000", "/dev/shm"} {
		output(t, s, "write", path+"/x")
	}
}

// kernelOptions are a tmpfs's options as mountinfo writes them; it leaves out the mode that is its default.
func kernelOptions(t *testing.T, m specs.Mount) []string {
	t.Helper()
	want := []string{" tmpfs "}
	for _, o := range m.Options {
		switch k, v, _ := strings.Cut(o, "="); k {
		case "nosuid", "nodev", "noexec":
			want = append(want, k)
		case "size":
			n, err := strconv.Atoi(v)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprintf("size=%dk", n>>10))
		case "mode":
			if v != "1777" {
				want = append(want, "mode="+strings.TrimLeft(v, "0"))
			}
		}
	}
	return want
}

// TestEditCreate is what the shard's self-check is tested with: a protection taken out of the
// request is really gone.
func TestEditCreate(t *testing.T) {
	r := newRig(t)
	podman.SetEditCreate(r.Backend, func(c *podman.CreateRequest) { c.NoNewPrivileges = false })
	s := r.start(t, r.config(t, oci.ShardSpec{}))
	if got := fields(output(t, s, "file", "/proc/1/status"))["NoNewPrivs"]; got != "0" {
		t.Errorf("NoNewPrivs %s", got)
	}
}

// TestRefusedImages: Podman itself would take each of them.
func TestRefusedImages(t *testing.T) {
	r := newRig(t)
	allowAll := `{"defaultAction":"SCMP_ACT_ALLOW"}`
	var profile map[string]any
	if err := json.Unmarshal(oci.SeccompProfile(), &profile); err != nil {
		t.Fatal(err)
	}
	profile["defaultErrnoRet"] = 2
	changed, err := json.Marshal(profile)
	if err != nil {
		t.Fatal(err)
	}
	for name, label := range map[string]string{
		"none": "", "allow all": allowAll, "changed": string(changed), "text": "x",
		"more": string(oci.SeccompProfile()) + "{}", "unknown key": `{"defaultAction":"SCMP_ACT_ERRNO","include":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			ref := r.ref + "-refused"
			img := backendtest.NewImage(t, "", map[string]string{oci.SeccompLabel: label})
			if _, err := r.ImportImage(t.Context(), ref, img.Layout(t)); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := r.RemoveImage(context.Background(), ref); err != nil {
					t.Error(err)
				}
			}()
			c := r.config(t, oci.ShardSpec{})
			c.Image = ref
			_, err := r.Create(t.Context(), c)
			wantErr(t, err, backends.ErrInvalid, "seccomp")
		})
	}
}
