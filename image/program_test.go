package image

import (
	"archive/tar"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// appRecipe builds the probe with an app of its own, from a package of these files.
func appRecipe(t *testing.T, files ...file) Recipe {
	t.Helper()
	r := newProbe(t, npmDelivers).recipe(t)
	r.Client, r.App = "probe-app", debFile(t, debOf(t, ".xz", aControl, files...))
	return r
}

func TestPackageIsALayer(t *testing.T) {
	r := appRecipe(t, aProgram, file{tar.Header{Name: "./opt/probe/bin/probe", Mode: 0o755}, "not the real one"})
	dir := t.TempDir()
	first := mustBuild(t, r, Options{CacheDir: dir})
	layers, err := first.Image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, l := range layers {
		body, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		in := extract(t, body)
		body.Close()
		for _, name := range []string{theProgram, "opt/probe/bin/probe"} {
			if text, ok := in[name]; ok {
				seen = append(seen, name+": "+text)
			}
		}
	}
	// What berth itself fetched lies above whatever the package has there.
	want := []string{theProgram + ": " + aProgram.data, "opt/probe/bin/probe: not the real one", "opt/probe/bin/probe: #!/bin/sh\necho probe\n"}
	if !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
	cf, err := first.Image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Versions(cf.Config.Labels), map[string]string{"probe-app": "1:2.0~rc1-1", "probe": "1"}; !maps.Equal(got, want) {
		t.Errorf("versions %v, want %v; labels %v", got, want, cf.Config.Labels)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	before := cacheFiles(t, dir)
	var ev events
	again := mustBuild(t, r, Options{CacheDir: dir, Progress: ev.add})
	if e := ev.done()[StepPackage]; !e.Cached || !e.Done || again.Digest != first.Digest || again.Ref != first.Ref {
		t.Errorf("again: %+v, %s %s, want it cached, %s %s", e, again.Ref, again.Digest, first.Ref, first.Digest)
	}
	if after := cacheFiles(t, dir); !slices.Equal(after, before) {
		t.Errorf("cache %v, want %v", after, before)
	}
}

func TestNewerPackageReplacesTheCachedOne(t *testing.T) {
	r, dir := appRecipe(t, aProgram), t.TempDir()
	var counts []int
	var refs []string
	for _, version := range []string{"1", "2", "1"} {
		r.App = debFile(t, debOf(t, ".gz", strings.Replace(aControl, "1:2.0~rc1-1", version, 1), file{aProgram.Header, version}))
		res := mustBuild(t, r, Options{CacheDir: dir})
		layers, err := res.Image.Layers()
		if err != nil {
			t.Fatal(err)
		}
		body, err := layers[1].Uncompressed() // base, package
		if err != nil {
			t.Fatal(err)
		}
		if got := extract(t, body)[theProgram]; got != version {
			t.Errorf("the image has %q, want %q", got, version)
		}
		body.Close()
		if err := res.Close(); err != nil {
			t.Fatal(err)
		}
		counts, refs = append(counts, len(cacheFiles(t, dir))), append(refs, res.Ref+res.Digest)
	}
	if counts[0] != counts[1] || counts[1] != counts[2] || refs[0] == refs[1] || refs[0] != refs[2] {
		t.Errorf("files in the cache %v, images %q", counts, refs)
	}
}

// TestSamePackageGivesTheSameDigest: wherever the file lies, whenever it was made.
func TestSamePackageGivesTheSameDigest(t *testing.T) {
	r := appRecipe(t, aProgram)
	one := mustBuild(t, r, Options{CacheDir: t.TempDir()})
	b, err := os.ReadFile(r.App)
	if err != nil {
		t.Fatal(err)
	}
	r.App = debFile(t, string(b))
	two := mustBuild(t, r, Options{CacheDir: t.TempDir()})
	if one.Digest != two.Digest || one.Ref != two.Ref {
		t.Errorf("got %s %s and %s %s", one.Ref, one.Digest, two.Ref, two.Digest)
	}
	r.App = debFile(t, debOf(t, ".xz", aControl, file{aProgram.Header, "another"}))
	if three := mustBuild(t, r, Options{CacheDir: t.TempDir()}); three.Digest == one.Digest || three.Ref == one.Ref {
		t.Error("another package gave the same image")
	}
}

func TestUnusablePackageLeavesNothing(t *testing.T) {
	r := appRecipe(t, aProgram, file{tar.Header{Name: "./usr/lib/more", Mode: 0o644}, strings.Repeat("x", 4<<20)}, file{tar.Header{Name: "./../x", Mode: 0o644}, ""})
	dir := t.TempDir()
	if _, err := Build(t.Context(), r, Options{CacheDir: dir}); !errors.Is(err, ErrUnsafe) || !strings.HasPrefix(err.Error(), r.App+": ") {
		t.Errorf("got %v", err)
	}
	for _, f := range cacheFiles(t, dir) {
		if strings.HasPrefix(f, "tmp/") || strings.HasPrefix(f, "keys/deb-") {
			t.Errorf("left behind: %s", f)
		}
	}
}

// TestPackageThatChanges: a file that is written anew while it's read gives no layer to the cache under
// the hash that it had before.
func TestPackageThatChanges(t *testing.T) {
	r, dir := appRecipe(t, aProgram), t.TempDir()
	p, err := newPlan(r)
	if err != nil {
		t.Fatal(err)
	}
	c, err := openCache(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	writeFile(t, r.App, debOf(t, ".xz", aControl, file{aProgram.Header, "another"}), 0o644)
	b := &build{plan: p, cache: c}
	if _, err := b.program(t.Context()); !errors.Is(err, ErrPackage) || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("got %v", err)
	}
	if left := cacheFiles(t, dir); slices.ContainsFunc(left, func(f string) bool { return strings.HasPrefix(f, "keys/") }) {
		t.Errorf("left behind: %q", left)
	}
}

func TestWhoNeedsAPackage(t *testing.T) {
	worker, deb := workerFile(t), debFile(t, debOf(t, "", aControl, aProgram))
	foreign := debFile(t, debOf(t, "", strings.Replace(aControl, "all", "s390x", 1), aProgram))
	for what, tc := range map[string]struct {
		client, app string
		want        error
		says        string
	}{
		"none given":      {"chatgpt", "", ErrRecipe, "client chatgpt needs its app's Debian package: give it with --runner-option app=FILE.deb"},
		"none wanted":     {"codex", deb, ErrRecipe, "client codex takes no Debian package"},
		"another machine": {"chatgpt", foreign, ErrPackage, "probe-app is for s390x, and the image for " + runtime.GOARCH},
		"a folder":        {"chatgpt", t.TempDir(), ErrPackage, "isn't a file"},
		"no file":         {"chatgpt", filepath.Join(t.TempDir(), "app.deb"), ErrPackage, "no such file"},
	} {
		_, err := newPlan(Recipe{Client: tc.client, App: tc.app, Worker: worker})
		if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %v with %q", what, err, tc.want, tc.says)
		}
	}
}

// TestDesktopImage: what a run of both clients relies on.
func TestDesktopImage(t *testing.T) {
	codex, chatgpt := clients["codex"], clients["chatgpt"]
	for _, p := range codex.packages {
		if !slices.Contains(chatgpt.packages, p) {
			t.Errorf("the image for chatgpt lacks %s, which the one for codex has", p)
		}
	}
	if codex.app.binary != chatgpt.app.binary {
		t.Errorf("Codex lies at %s and at %s", codex.app.binary, chatgpt.app.binary)
	}
}

// TestDependsAreInstalled: the app's dependencies reach apt as they are, and make another root.
func TestDependsAreInstalled(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "args")
	_, r := newDebian(t, `printf '%s\n' "$@" >`+seen+`; `+mmdebstrapDelivers)
	r.Client = "probe-app"
	key := func(depends string) string {
		r.App = debFile(t, debOf(t, "", strings.Replace(aControl, "one (>= 1), two | three:any", depends, 1), aProgram))
		p, err := newPlan(r)
		if err != nil {
			t.Fatal(err)
		}
		return p.rootKey()
	}
	none, one, two := key(""), key("one (>= 1)"), key("one (>= 1),\n two|three")
	if none == one || one == two || none == two {
		t.Error("other dependencies, and the same root file system")
	}
	if key("one (>= 1), two | three") != two {
		t.Error("the same dependencies, and another root file system")
	}
	mustBuild(t, r, Options{CacheDir: t.TempDir(), Mirror: aMirror})
	args, err := os.ReadFile(seen)
	if err != nil || !strings.Contains(string(args), " satisfy 'one (>= 1), two | three'\n") {
		t.Errorf("arguments\n%s%v", args, err)
	}
}
