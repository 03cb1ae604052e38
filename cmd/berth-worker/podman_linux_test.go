package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/channel/archive"
	"github.com/berth-run/berth/oci"
)

// TestInPodman runs the worker as it will run: in rootless, hardened containers, with `podman exec`
// under the channel. The tests of package backends come through the API instead.
func TestInPodman(t *testing.T) {
	image := testImage(t)
	for name, test := range map[string]func(*testing.T, string){
		"commands":          commandsInPodman,
		"files":             filesInPodman,
		"lost link":         lostLinkInPodman,
		"agent":             agentInPodman,
		"shutdown":          shutdownInPodman,
		"stop":              stopInPodman,
		"serve killed":      serveKilledInPodman,
		"dead man's switch": deadmanInPodman,
		"kept":              keptInPodman,
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasSuffix(name, "switch") || name == "kept" { // these wait for their time to pass
				t.Parallel()
			}
			test(t, image)
		})
	}
}

// testImage imports an image that holds nothing but this test binary, as the worker.
func testImage(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs containers; leave out -short")
	}
	if os.Getuid() == 0 {
		t.Skip("needs an unprivileged user: scripts/rootless go test ./cmd/berth-worker")
	}
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("needs podman: apt-get install podman")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	libs, err := f.ImportedLibraries()
	f.Close()
	if err != nil || len(libs) > 0 {
		t.Skip("needs a static test binary: CGO_ENABLED=0 go test")
	}
	ref := fmt.Sprintf("localhost/berth-worker-test:%d", os.Getpid())
	cmd := exec.Command("podman", "import", "-", ref)
	cmd.Stdin = rootfs(t, self)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("podman import: %v\n%s", err, out)
	}
	t.Cleanup(func() { podman(t, "rmi", "-f", ref) })
	return ref
}

func rootfs(t *testing.T, worker string) io.Reader {
	t.Helper()
	binary, err := os.ReadFile(worker)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, dir := range []string{"tmp", "home/berth", "run/berth", "proc", "sys", "dev", "etc", "usr/libexec/berth"} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}))
	}
	// To be executed and not to be read: so the kernel seals it from its first instruction on.
	err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: oci.WorkerPath[1:], Mode: 0o111, Size: int64(len(binary))}))
	if _, werr := w.Write(binary); errors.Join(err, werr, w.Close()) != nil {
		t.Fatal(err, werr)
	}
	return &b
}

func podman(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("podman", args...).CombinedOutput()
	if err != nil {
		t.Errorf("podman %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// container is one shard, and the execs that are its links.
type container struct {
	t    *testing.T
	name string

	mu    sync.Mutex
	links []*exec.Cmd
}

func startContainer(t *testing.T, image string, args ...string) *container {
	t.Helper()
	c := &container{t: t, name: fmt.Sprintf("berth-worker-test-%d-%x", os.Getpid(), rand.Uint64())}
	tmpfs := func(path, options string) string { return "type=tmpfs,destination=" + path + ",U=true," + options }
	podman(t, append([]string{"run", "--detach", "--name", c.name, "--user", "1000:1000", "--read-only", "--cap-drop=all",
		"--security-opt", "no-new-privileges", "--network", "none", "--env", inShard + "=1", "--env", "HOME=" + oci.Home,
		"--mount", tmpfs(oci.RunDir, "tmpfs-mode=0700,tmpfs-size=256m,noexec,nosuid,nodev"),
		"--mount", tmpfs(oci.Home, "tmpfs-mode=0700,tmpfs-size=512m"), "--entrypoint", oci.WorkerPath, image, "init"}, args...)...)
	t.Cleanup(func() { podman(t, "rm", "--force", "--time", "0", c.name) })
	return c
}

// open is the channel.Opener over podman's CLI.
func (c *container) open(context.Context) (io.ReadWriteCloser, error) {
	cmd := exec.Command("podman", "exec", "--interactive", c.name, oci.WorkerPath, "channel")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links = append(c.links, cmd)
	return &execLink{stdout, stdin, cmd, sync.Once{}}, nil
}

type execLink struct {
	io.Reader
	io.WriteCloser
	cmd  *exec.Cmd
	once sync.Once
}

func (l *execLink) Close() error {
	l.once.Do(func() {
		l.WriteCloser.Close()
		l.cmd.Process.Kill()
		l.cmd.Wait()
	})
	return nil
}

// cut kills the newest link's podman.
func (c *container) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links[len(c.links)-1].Process.Kill()
}

func (c *container) dial() *channel.Client { return c.dialWith(channel.Options{}) }

func (c *container) dialWith(o channel.Options) *channel.Client {
	c.t.Helper()
	l, err := channel.Dial(c.t.Context(), c.open, o)
	if err != nil {
		c.t.Fatalf("%v\n%s", err, podman(c.t, "logs", c.name))
	}
	c.t.Cleanup(func() { l.Close() })
	return l
}

// exit is PID 1's status, once it has ended.
func (c *container) exit() string {
	c.t.Helper()
	return podman(c.t, "wait", c.name)
}

func command(t *testing.T, l *channel.Client, stdin string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	cmd := channel.Command{Args: append([]string{oci.WorkerPath}, args...), Stdout: &out, Stderr: &out}
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	r, err := l.Command(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return r.Code, out.String()
}

func commandsInPodman(t *testing.T, image string) {
	l := startContainer(t, image).dial()
	if code, out := command(t, l, "", "version"); code != 0 || !strings.HasPrefix(out, "berth-worker ") {
		t.Errorf("version: %d, %q", code, out)
	}
	if code, out := command(t, l, "in and out", "probe-cat"); code != 0 || out != "in and out" {
		t.Errorf("cat: %d, %q", code, out)
	}
	if code, out := command(t, l, "", "probe-orphan"); code != 0 {
		t.Errorf("orphans: %d, %s", code, out)
	}
	begin := time.Now()
	const rounds = 50
	for range rounds {
		command(t, l, "", "version")
	}
	t.Logf("a command takes %s", time.Since(begin)/rounds)
}

// fileBytes is the content that goes in and out.
const fileBytes = 256 << 20

func filesInPodman(t *testing.T, image string) {
	l := startContainer(t, image).dial()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	want := sha256.New()
	_, err = io.CopyN(io.MultiWriter(f, want), rand.NewChaCha8([32]byte{}), fileBytes)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	timed(t, "put", func() error {
		r, w := io.Pipe()
		go func() { w.CloseWithError(archive.Pack(w, root, "big")) }()
		return l.Put(t.Context(), oci.Home+"/in", r)
	})
	if err := root.Mkdir("back", 0o700); err != nil {
		t.Fatal(err)
	}
	back, err := root.OpenRoot("back")
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	timed(t, "get", func() error {
		r, w := io.Pipe()
		go func() { w.CloseWithError(l.Get(t.Context(), oci.Home+"/in", w)) }()
		return archive.Unpack(back, r, archive.Limits{})
	})
	got := sha256.New()
	b, err := back.Open("big")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := io.Copy(got, b); err != nil || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		t.Errorf("the file came back as another one (%v)", err)
	}
}

func timed(t *testing.T, what string, do func() error) {
	t.Helper()
	begin := time.Now()
	if err := do(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	t.Logf("%s: %.0f MB/s", what, fileBytes/1e6/time.Since(begin).Seconds())
}

// lostLinkInPodman kills the exec's client on this side; the command dies, the next call works.
func lostLinkInPodman(t *testing.T, image string) {
	c := startContainer(t, image)
	l := c.dial()
	r, w := io.Pipe()
	interrupted := make(chan error, 1)
	go func() {
		_, err := l.Command(t.Context(), channel.Command{Args: []string{oci.WorkerPath, "probe-sleep"}, Stdout: w})
		interrupted <- err
	}()
	if _, err := io.ReadFull(r, make([]byte, len("up\n"))); err != nil {
		t.Fatal(err)
	}
	c.cut()
	if err := <-interrupted; !errors.Is(err, channel.ErrInterrupted) {
		t.Errorf("Command = %v, want ErrInterrupted", err)
	}
	if err := l.WriteToken(t.Context(), channel.TokenInference, []byte("x")); err != nil {
		t.Errorf("over the next link: %v", err)
	}
	if ps := podman(t, "top", c.name, "args"); strings.Contains(ps, "probe-sleep") {
		t.Errorf("the command outlived its link:\n%s", ps)
	}
}

func agentInPodman(t *testing.T, image string) {
	l := startContainer(t, image).dial()
	if code, out := command(t, l, "", "probe-agent"); code != 0 {
		t.Errorf("an app with the worker's uid:\n%s", out)
	}
}

func shutdownInPodman(t *testing.T, image string) {
	c := startContainer(t, image)
	if err := c.dial().Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if got := c.exit(); got != "0" {
		t.Errorf("status %s, want 0", got)
	}
}

func stopInPodman(t *testing.T, image string) {
	c := startContainer(t, image)
	c.dial() // so it's up
	podman(t, "kill", "--signal", "TERM", c.name)
	if got := c.exit(); got != "0" {
		t.Errorf("status %s, want 0", got)
	}
}

func serveKilledInPodman(t *testing.T, image string) {
	c := startContainer(t, image)
	l := c.dialWith(channel.Options{ReopenFor: time.Second})
	var serve string
	for line := range strings.Lines(podman(t, "top", c.name, "hpid", "args")) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "serve" {
			serve = f[0]
		}
	}
	podman(t, "unshare", "kill", "-9", serve)
	if got := c.exit(); got != "137" {
		t.Errorf("status %s, want serve's own, 137", got)
	}
	if err := l.Keep(t.Context()); !errors.Is(err, channel.ErrLost) {
		t.Errorf("Keep = %v, want ErrLost", err)
	}
}

// deadman is time enough to link to a container, on a machine that is busy, too.
const deadman = 20 * time.Second

func deadmanInPodman(t *testing.T, image string) {
	c := startContainer(t, image, "--deadman", deadman.String())
	c.dial().Close()
	if got := c.exit(); got != "3" {
		t.Errorf("status %s, want 3", got)
	}
	if logs := podman(t, "logs", c.name); !strings.Contains(logs, "no coordinator heard for "+deadman.String()) {
		t.Errorf("logs: %s", logs)
	}
}

func keptInPodman(t *testing.T, image string) {
	c := startContainer(t, image, "--deadman", deadman.String())
	l := c.dial()
	if err := l.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Close()
	time.Sleep(deadman + 2*time.Second) // what is awaited is that nothing happens
	if got := podman(t, "inspect", "--format", "{{.State.Status}}", c.name); got != "running" {
		t.Errorf("a kept shard is %s", got)
	}
}
