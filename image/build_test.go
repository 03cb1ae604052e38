package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func mustBuild(t *testing.T, r Recipe, o Options) *Result {
	t.Helper()
	res, err := Build(t.Context(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Close() })
	return res
}

func TestSecondBuildDoesNothing(t *testing.T) {
	p := newProbe(t, npmDelivers)
	r, dir := p.recipe(t), t.TempDir()
	r.Overlay = t.TempDir()
	writeFile(t, filepath.Join(r.Overlay, "opt/server"), "a connector", 0o700)
	ran := 0
	check := &Check{Key: "k", Run: func(_ context.Context, binary string) error {
		ran++
		b, err := os.ReadFile(binary)
		if err == nil && !strings.Contains(string(b), "echo probe") {
			err = errors.New("another binary")
		}
		return err
	}}
	first := mustBuild(t, r, Options{CacheDir: dir, Check: check})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	before := cacheFiles(t, dir)
	var ev events
	second := mustBuild(t, r, Options{CacheDir: dir, Check: check, Progress: ev.add})
	if second.Digest != first.Digest || second.Ref != first.Ref {
		t.Errorf("got %s %s, want %s %s", second.Ref, second.Digest, first.Ref, first.Digest)
	}
	for _, step := range []string{StepRoot, StepApp, StepOverlay, StepCheck} {
		if e := ev.done()[step]; !e.Cached || !e.Done {
			t.Errorf("step %s: %+v, want it cached", step, e)
		}
	}
	if p.called(t) != 1 || ran != 1 {
		t.Errorf("npm ran %d times and the check %d times", p.called(t), ran)
	}
	if after := cacheFiles(t, dir); !slices.Equal(after, before) {
		t.Errorf("cache %v, want %v", after, before)
	}
}

func TestSameInputsGiveTheSameDigestFromNothing(t *testing.T) {
	p := newProbe(t, npmDelivers)
	r := p.recipe(t)
	r.Overlay = t.TempDir()
	writeFile(t, filepath.Join(r.Overlay, "bin/tool"), "tool", 0o755)
	one := mustBuild(t, r, Options{CacheDir: t.TempDir()})
	two := mustBuild(t, r, Options{CacheDir: t.TempDir()})
	if one.Digest != two.Digest {
		t.Errorf("digests %s and %s", one.Digest, two.Digest)
	}
	writeFile(t, filepath.Join(r.Overlay, "bin/tool"), "tool 2", 0o755)
	if three := mustBuild(t, r, Options{CacheDir: t.TempDir()}); three.Digest == one.Digest || three.Ref == one.Ref {
		t.Error("another overlay gave the same image")
	}
}

func TestOverlayThatChangedReplacesTheCachedOne(t *testing.T) {
	p := newProbe(t, npmDelivers)
	r, dir := p.recipe(t), t.TempDir()
	r.Overlay = t.TempDir()
	var counts []int
	for _, data := range []string{"one", "two"} {
		writeFile(t, filepath.Join(r.Overlay, "opt/f"), data, 0o644)
		res := mustBuild(t, r, Options{CacheDir: dir})
		if got := extractedOverlay(t, res); got != data {
			t.Errorf("the image has %q, want %q", got, data)
		}
		if err := res.Close(); err != nil {
			t.Fatal(err)
		}
		counts = append(counts, len(cacheFiles(t, dir)))
	}
	if counts[0] != counts[1] {
		t.Errorf("cache grew from %d to %d files", counts[0], counts[1])
	}
}

func extractedOverlay(t *testing.T, r *Result) string {
	t.Helper()
	layers, err := r.Image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	body, err := layers[2].Uncompressed() // base, app, overlay
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	return extract(t, body)["opt/f"]
}

func TestDamagedBlobIsMadeAgain(t *testing.T) {
	p := newProbe(t, npmDelivers)
	r, dir := p.recipe(t), t.TempDir()
	first := mustBuild(t, r, Options{CacheDir: dir})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs/sha256/*"))
	if err != nil || len(blobs) != 1 {
		t.Fatalf("blobs %v, %v", blobs, err)
	}
	for what, damage := range map[string]func() error{
		"cut short": func() error { return os.Truncate(blobs[0], 100) },
		"altered":   func() error { return os.WriteFile(blobs[0], []byte("altered"), 0o600) },
		"removed":   func() error { return os.Remove(blobs[0]) },
		"key cut":   func() error { return os.WriteFile(onlyKey(t, dir), []byte(`{"dig`), 0o600) },
	} {
		t.Run(what, func(t *testing.T) {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			again := mustBuild(t, r, Options{CacheDir: dir})
			if again.Digest != first.Digest {
				t.Errorf("digest %s, want %s", again.Digest, first.Digest)
			}
			readArchive(t, again)
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
	if p.called(t) != 1 {
		t.Errorf("npm ran %d times, and the tarball was there", p.called(t))
	}
}

func onlyKey(t *testing.T, dir string) string {
	t.Helper()
	keys, err := filepath.Glob(filepath.Join(dir, "keys/*.json"))
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys %v, %v", keys, err)
	}
	return keys[0]
}

func TestFailedCheckIsRunAgain(t *testing.T) {
	p := newProbe(t, npmDelivers)
	r, dir := p.recipe(t), t.TempDir()
	refuse := errors.New("refused")
	for range 2 {
		_, err := Build(t.Context(), r, Options{CacheDir: dir, Check: &Check{Run: func(context.Context, string) error { return refuse }}})
		if !errors.Is(err, refuse) {
			t.Fatalf("got %v", err)
		}
	}
	mustBuild(t, r, Options{CacheDir: dir, Check: &Check{Run: func(context.Context, string) error { return nil }}})
	for _, f := range cacheFiles(t, dir) {
		if strings.HasPrefix(f, "tmp/") {
			t.Errorf("left behind: %s", f)
		}
	}
}
