package image

import (
	"archive/tar"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// newDebian is a probe on Debian's root file system, with a mmdebstrap that runs script. In it $TAR
// is a root file system's tar.
func newDebian(t *testing.T, script string) (*probe, Recipe) {
	t.Helper()
	p := newProbe(t, npmDelivers)
	root := filepath.Join(t.TempDir(), "root.tar")
	writeFile(t, root, string(tarOf(t,
		file{tar.Header{Name: "./etc/passwd", Mode: 0o644}, "root:x:0:0::/root:/bin/sh\n"},
		file{tar.Header{Name: "./etc/group", Mode: 0o644}, "root:x:0:\n"},
		file{tar.Header{Name: "./var/lib/dpkg/status", Mode: 0o644}, "Package: a\nStatus: install ok installed\nVersion: 1\n"},
	)), 0o644)
	p.program(t, "mmdebstrap", "TAR="+root+"\n"+script)
	if err := needDebian(runtime.GOARCH, debianKeyring); err != nil {
		t.Skip(err)
	}
	return p, Recipe{Client: "probe", Worker: workerFile(t)}
}

const mmdebstrapDelivers = `cat >"$TMPDIR/sources"; echo "I: working" >&2; cat "$TAR"`

const aMirror = "http://me:hunter2@mirror.invalid/debian"

func TestRootIsBuiltOnceAndRefreshedOnDemand(t *testing.T) {
	p, r := newDebian(t, mmdebstrapDelivers)
	dir := t.TempDir()
	build := func(refresh bool) *Result {
		res := mustBuild(t, r, Options{CacheDir: dir, Mirror: aMirror, Refresh: refresh})
		if err := res.Close(); err != nil {
			t.Fatal(err)
		}
		return res
	}
	first := build(false)
	if !slices.Equal(first.Packages, []string{"a=1"}) {
		t.Errorf("packages %v", first.Packages)
	}
	if again := build(false); again.Digest != first.Digest || p.called(t) != 2 { // mmdebstrap and npm
		t.Errorf("digest %s, want %s; %d programs ran", again.Digest, first.Digest, p.called(t))
	}
	if same := build(true); same.Digest != first.Digest || p.called(t) != 3 {
		t.Errorf("refreshed with the same packages: digest %s, want %s; %d programs ran", same.Digest, first.Digest, p.called(t))
	}
	files := len(cacheFiles(t, dir))
	p.program(t, "mmdebstrap", `printf 'Package: a\nStatus: install ok installed\nVersion: 2\n' >"$TMPDIR/status"
mkdir -p "$TMPDIR/r/var/lib/dpkg"; mv "$TMPDIR/status" "$TMPDIR/r/var/lib/dpkg"; tar -C "$TMPDIR/r" --owner 0 --group 0 -c .`)
	newer := build(true)
	if newer.Digest == first.Digest || newer.Ref != first.Ref || !slices.Equal(newer.Packages, []string{"a=2"}) {
		t.Errorf("refreshed: %s %s with %v", newer.Ref, newer.Digest, newer.Packages)
	}
	if got := len(cacheFiles(t, dir)); got != files {
		t.Errorf("the cache went from %d to %d files: the old root file system should go", files, got)
	}
}

func TestBootstrapFaults(t *testing.T) {
	for what, tc := range map[string]struct {
		script string
		want   error
		says   string
	}{
		"mirror down": {`echo "E: Failed to fetch ` + aMirror + `/x" >&2; echo "E: apt-get failed" >&2; exit 25`, ErrFetch, "Failed to fetch"},
		"no space":    {`echo "E: write failed (28: No space left on device)" >&2; exit 25`, ErrNoSpace, "XDG_CACHE_HOME"},
		"cut short":   {`head -c 1000 "$TAR"; echo "E: tar failed" >&2; exit 1`, ErrFetch, "tar failed"},
		"app needs too much": {`echo " satisfy:command-line : Depends: libnone (>= 9) but it is not installable" >&2; echo "E: Unable to correct problems, you have held broken packages." >&2; exit 25`,
			ErrPackage, "doesn't have: libnone (>= 9) but it is not installable"},
		"says nothing":  {`exit 3`, ErrFetch, "said nothing"},
		"fails at last": {`cat "$TAR"; echo "E: at last" >&2; exit 1`, ErrFetch, "at last"},
	} {
		t.Run(what, func(t *testing.T) {
			_, r := newDebian(t, tc.script)
			dir, tmp := t.TempDir(), t.TempDir()
			t.Setenv("TMPDIR", tmp)
			_, err := Build(t.Context(), r, Options{CacheDir: dir, Mirror: aMirror})
			if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want %v with %q and no password", err, tc.want, tc.says)
			}
			noRootLeft(t, dir, tmp)
		})
	}
}

func TestCancelledBootstrap(t *testing.T) {
	started := fifo(t)
	_, r := newDebian(t, `trap 'echo cleaned >`+started+`.log; exit 130' INT; cp "$TAR" "$TMPDIR"; echo >`+started+`; while :; do sleep 0.1; done`)
	dir, tmp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("ctrl-c")
	go func() {
		await(t, started)
		cancel(stop)
	}()
	if _, err := Build(ctx, r, Options{CacheDir: dir, Mirror: aMirror}); !errors.Is(err, stop) {
		t.Errorf("got %v, want %v", err, stop)
	}
	if b, err := os.ReadFile(started + ".log"); err != nil || string(b) != "cleaned\n" {
		t.Errorf("mmdebstrap wasn't asked to clean up: %q, %v", b, err)
	}
	noRootLeft(t, dir, tmp)
}

// noRootLeft fails for half a root file system, in the cache or among temporary files.
func noRootLeft(t *testing.T, cache, tmp string) {
	t.Helper()
	for _, f := range append(cacheFiles(t, cache), cacheFiles(t, tmp)...) {
		if !strings.HasPrefix(f, "npm/") && !strings.HasPrefix(f, "blobs/") && !strings.HasPrefix(f, "keys/probe-") {
			t.Errorf("left behind: %s", f)
		}
	}
}

func TestMirrorsPasswordIsInNoArgument(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "args")
	_, r := newDebian(t, `echo "$@" >`+seen+`; cat >`+seen+`.stdin; cat "$TAR"`)
	dir := t.TempDir()
	mustBuild(t, r, Options{CacheDir: dir, Mirror: aMirror})
	args, err := os.ReadFile(seen)
	if err != nil || strings.Contains(string(args), "hunter2") || !strings.HasSuffix(string(args), "trixie - -\n") {
		t.Errorf("arguments %q, %v", args, err)
	}
	if in, err := os.ReadFile(seen + ".stdin"); err != nil || string(in) != "deb "+aMirror+" trixie main\n" {
		t.Errorf("sources %q, %v", in, err)
	}
}
