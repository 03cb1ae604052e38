package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-run/berth/oci"
)

// real skips where a part that can't be stood in for is missing.
func real(t *testing.T, programs ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a real image; run without -short")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("needs %s: install it", p)
		}
	}
	if os.Getuid() == 0 {
		t.Skip("needs an unprivileged user: run it through scripts/rootless")
	}
}

const goodConfig = `model = "m"
model_provider = "berth"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.berth]
name = "berth"
base_url = "http://127.0.0.1:9/v1"
wire_api = "responses"
[model_providers.berth.auth]
command = "/bin/cat"
args = ["/run/berth/token"]
`

// TestRealImage builds Codex's image from Debian's mirror and the npm registry, twice, and runs it
// in rootless Podman.
func TestRealImage(t *testing.T) {
	real(t, "mmdebstrap", "npm", "podman")
	dir := t.TempDir()
	r := Recipe{Client: "codex", Worker: workerFile(t)}
	var binary string
	check := &Check{Key: "test", Run: func(ctx context.Context, b string) error {
		binary = b
		return errors.Join(CheckCodexConfig(ctx, b, []byte(goodConfig)), wrongConfigs(ctx, b))
	}}
	first := mustBuild(t, r, Options{CacheDir: dir, Check: check})
	if binary == "" {
		t.Error("the check didn't run")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("cached", func(t *testing.T) {
		var ev events
		again := mustBuild(t, r, Options{CacheDir: dir, Check: check, Progress: ev.add})
		for step, e := range ev.done() {
			if !e.Cached {
				t.Errorf("step %s: %+v", step, e)
			}
		}
		if again.Digest != first.Digest {
			t.Errorf("digest %s, want %s", again.Digest, first.Digest)
		}
		again.Close()
	})
	second := builtAgain(t, r, dir, first)
	if second == nil {
		return
	}
	defer second.Close()
	t.Run("runs", func(t *testing.T) { runReal(t, second) })
	t.Run("leaves nothing", func(t *testing.T) {
		for _, f := range cacheFiles(t, dir) {
			if strings.HasPrefix(f, "tmp/") {
				t.Errorf("left behind: %s", f)
			}
		}
	})
}

// builtAgain refreshes what first was built from, and compares.
func builtAgain(t *testing.T, r Recipe, dir string, first *Result) (second *Result) {
	t.Run("built again gives the same digest", func(t *testing.T) {
		var err error
		var ev events
		if second, err = Build(t.Context(), r, Options{CacheDir: dir, Refresh: true, Progress: ev.add}); err != nil {
			t.Fatal(err)
		}
		tmp := ev.tempDir(t)
		if _, err := os.Stat(tmp); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left behind: %s (%v)", tmp, err)
		}
		if slices.Equal(first.Packages, second.Packages) != (first.Digest == second.Digest) {
			t.Errorf("digests %s and %s for packages\n%v\n%v", first.Digest, second.Digest, first.Packages, second.Packages)
		}
	})
	return second
}

// TestRealDesktop builds the image of the ChatGPT app, for an app that asks for a small package, twice,
// and runs its desktop's programs in rootless Podman.
func TestRealDesktop(t *testing.T) {
	real(t, "mmdebstrap", "npm", "podman")
	dir := t.TempDir()
	deb := debOf(t, ".xz", strings.Replace(aControl, "one (>= 1), two | three:any", "libnone (>= 9) | xclip (>= 0.1)", 1),
		file{tar.Header{Name: "./usr/bin/chatgpt", Mode: 0o4755}, "#!/bin/sh\nexec xclip -version\n"})
	r := Recipe{Client: "chatgpt", App: debFile(t, deb), Worker: workerFile(t)}
	first := mustBuild(t, r, Options{CacheDir: dir})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := builtAgain(t, r, dir, first)
	if second == nil {
		return
	}
	defer second.Close()
	runReal(t, second)
	if out := podman(t, nil, "run", "--rm", "--network=none", "--entrypoint=/bin/sh", second.Ref, "-c", desktopChecks); out != "" {
		t.Errorf("in the image:\n%s", out)
	}
	// As in a shard, where a file with a capability can't be executed at all.
	if out := podman(t, nil, "run", "--rm", "--network=none", "--cap-drop=all", "--security-opt=no-new-privileges", "--entrypoint=gnome-keyring-daemon", second.Ref, "--version"); !strings.HasPrefix(out, "gnome-keyring-daemon: ") {
		t.Errorf("the keyring says %q", out)
	}
	if out := podman(t, nil, "run", "--rm", "--network=none", "--user=0", "--entrypoint=/bin/sh", second.Ref, "-c", withCapability); out != "" {
		t.Errorf("with a capability on its file:\n%s", out)
	}
}

// desktopChecks is like insideChecks.
const desktopChecks = `
for p in Xvfb dbus-daemon gnome-keyring-daemon openbox xkbcomp; do command -v $p >/dev/null || echo "no $p"; done
for p in /usr/libexec/at-spi-bus-launcher /usr/libexec/at-spi2-registryd /usr/libexec/gcr-prompter; do [ -x $p ] || echo "no $p"; done
chatgpt 2>&1 | grep -q '^xclip version' || echo "the app says $(chatgpt 2>&1)"
for c in e9 416 4e2d 3042 ac00 1f600; do [ -n "$(fc-list ":charset=$c")" ] || echo "no font for U+$c"; done
fc-cache --system-only --verbose 2>/dev/null | grep 'new cache'
[ ! -e /usr/lib/systemd/systemd ] || echo "systemd came along"
`

// withCapability shows that desktopChecks' keyring would fail: what Ubuntu's package has on its file,
// cap_ipc_lock=ep, keeps it from being executed.
const withCapability = `
cp /usr/bin/gnome-keyring-daemon /tmp/it
locked() { setpriv --bounding-set=-all --inh-caps=-all --no-new-privs --reuid=1000 --regid=1000 --clear-groups /tmp/it --version 2>&1; }
locked | grep -q '^gnome-keyring-daemon: ' || echo "without one, it says $(locked)"
python3 -c 'import os; os.setxattr("/tmp/it", "security.capability", bytes.fromhex("0100000200400000000000000000000000000000"))'
locked | grep -q 'Operation not permitted' || echo "with one, it says $(locked)"
`

// TestRealLeftovers has the cache remove files of subordinate ids, as a build leaves them that was
// killed together with its mmdebstrap.
func TestRealLeftovers(t *testing.T) {
	real(t, "mmdebstrap")
	dir := t.TempDir()
	c, err := openCache(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	left, err := c.outsideDir()
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(left, "mmdebstrap.x")
	if err := os.Chmod(left, 0o777); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("mmdebstrap", "--unshare-helper", "sh", "-c", `mkdir -m 755 "$1" "$1/etc" && echo x >"$1/etc/f"`, "sh", sub).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(left, 0o711); err != nil {
		t.Fatal(err)
	}
	if os.RemoveAll(sub) == nil {
		t.Fatal("this user could remove it, so this proves nothing")
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	if c, err = openCache(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %s (%v)", left, err)
	}
	if files := cacheFiles(t, dir); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

// TestRealInterruption stops a real mmdebstrap while files of subordinate ids are there, by a
// cancellation and by killing the build.
func TestRealInterruption(t *testing.T) {
	real(t, "mmdebstrap")
	r := Recipe{Client: "codex", Worker: workerFile(t)}
	t.Run("cancelled", func(t *testing.T) {
		p, err := newPlan(r)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		var ev events
		c, err := openCache(ctx, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		b := &build{plan: p, cache: c, report: &reporter{f: func(e Event) {
			ev.add(e)
			if strings.HasPrefix(e.Detail, "extracting") {
				cancel()
			}
		}}}
		if _, err := b.debian(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(ev.tempDir(t)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left behind: %s (%v)", ev.tempDir(t), err)
		}
		if left := cacheFiles(t, dir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("killed", func(t *testing.T) {
		dir := t.TempDir()
		cmd := child(t, "debian", "CACHE="+dir, "WORKER="+r.Worker)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tmp, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		c, err := openCache(t.Context(), dir, nil) // waits for the orphaned mmdebstrap
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		if _, err := os.Stat(strings.TrimSpace(tmp)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left behind: %s (%v)", tmp, err)
		}
		if left := cacheFiles(t, dir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func init() { children["debian"] = childDebian }

// childDebian builds a root file system, and prints where once there are files.
func childDebian() {
	p, err := newPlan(Recipe{Client: "codex", Worker: os.Getenv("WORKER")})
	if err != nil {
		panic(err)
	}
	c, err := openCache(context.Background(), os.Getenv("CACHE"), nil)
	if err != nil {
		panic(err)
	}
	b := &build{plan: p, cache: c, report: &reporter{f: func(e Event) {
		if !strings.HasPrefix(e.Detail, "installing essential") {
			return
		}
		links, _ := filepath.Glob(c.path("tmp", "berth-rootfs-*"))
		for _, l := range links {
			dir, _ := os.Readlink(l)
			fmt.Println(dir)
		}
	}}}
	_, _ = b.debian(context.Background())
}

// wrongConfigs are each refused.
func wrongConfigs(ctx context.Context, binary string) error {
	for what, config := range map[string]string{
		"unknown key":  "bogus_key = 1\n" + goodConfig,
		"wrong type":   "model = 3\n",
		"old wire api": strings.Replace(goodConfig, `"responses"`, `"chat"`, 1),
		"no toml":      "x = [",
	} {
		err := CheckCodexConfig(ctx, binary, []byte(config))
		if !errors.Is(err, ErrCheck) || !strings.Contains(err.Error(), "config.toml:") {
			return errors.Join(errors.New(what+" passed"), err)
		}
	}
	return nil
}

// insideChecks is run in the image by its shell; each line of its output is a finding.
const insideChecks = `
[ "$(id -u):$(id -g):$(id -un)" = 1000:1000:berth ] || echo "user $(id)"
[ "$(codex --version)" = "codex-cli 0.171.0" ] || echo "codex $(codex --version 2>&1)"
rg --version >/dev/null && git --version >/dev/null && python3 -c 'import json' && curl --version >/dev/null || echo "a tool is missing"
[ ! -s /etc/machine-id ] || echo "machine-id isn't empty"
[ "$(stat -c %a:%u /tmp/.X11-unix)" = 1777:0 ] || echo "/tmp/.X11-unix $(stat -c %a:%u /tmp/.X11-unix)"
for d in /home/berth /run/berth /run/user/1000; do [ "$(stat -c %a:%u:%g $d)" = 700:1000:1000 ] || echo "$d $(stat -c %a:%u:%g $d)"; done
find / -xdev -perm /6000 2>/dev/null | sed 's/^/setuid or setgid: /'
find /var/log /var/cache /var/lib/apt/lists /usr/share/man -path /var/cache/fontconfig -prune -o -type f -print 2>/dev/null | sed 's/^/left over: /'
python3 - <<'PY'
import os
for d, _, fs in os.walk('/usr'):
    for f in fs:
        try:
            if 'security.capability' in os.listxattr(os.path.join(d, f), follow_symlinks=False): print('capability:', d, f)
        except OSError: pass
PY
`

func runReal(t *testing.T, r *Result) {
	id := strings.TrimPrefix(r.Digest, "sha256:")
	t.Cleanup(func() {
		if out, err := exec.Command("podman", "rmi", "--force", r.Ref).CombinedOutput(); err != nil {
			t.Errorf("podman rmi: %v: %s", err, out)
		}
	})
	if out := podman(t, r.WriteArchive, "load"); !strings.Contains(out, r.Ref) {
		t.Fatalf("podman load: %s", out)
	}
	format := `{{.Id}} {{index .Labels "run.berth.codex.version"}} {{index .Labels "run.berth.suite"}} {{.Config.User}} {{.Config.Entrypoint}}`
	if got, want := podman(t, nil, "image", "inspect", "--format", format, r.Ref), id+" 0.171.0 trixie 1000:1000 ["+oci.WorkerPath+" init]\n"; got != want {
		t.Errorf("the engine has %q, want %q", got, want)
	}
	if out := podman(t, nil, "run", "--rm", "--network=none", "--entrypoint=/bin/sh", r.Ref, "-c", insideChecks); out != "" {
		t.Errorf("in the image:\n%s", out)
	}
}

func podman(t *testing.T, stdin func(io.Writer) error, args ...string) string {
	t.Helper()
	cmd := exec.Command("podman", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if stdin != nil {
		pr, pw := io.Pipe()
		go func() { pw.CloseWithError(stdin(pw)) }()
		cmd.Stdin = pr
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("podman %s: %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// tempDir is where mmdebstrap said it works.
func (e *events) tempDir(t *testing.T) string {
	t.Helper()
	for _, ev := range e.all {
		if rest, ok := strings.CutPrefix(ev.Detail, "using "); ok {
			dir, _, _ := strings.Cut(rest, " as tempdir")
			return filepath.Dir(dir)
		}
	}
	t.Fatal("mmdebstrap named no directory")
	return ""
}
