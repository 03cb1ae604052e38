package backendtest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/berth-run/berth/backends"
)

var imageCases = []testCase{
	{"image: missing", "", func(t *testing.T, e *env) {
		ctx := e.context(t)
		const ref = "localhost/berth-conformance:missing"
		_, err := e.Image(ctx, ref)
		wantErr(t, "Image", err, backends.ErrNotFound)
		wantErr(t, "RemoveImage", e.RemoveImage(ctx, ref), backends.ErrNotFound)
		c := e.config(t)
		c.Image = ref
		_, err = e.Create(ctx, c)
		wantErr(t, "Create", err, backends.ErrNotFound)
	}},
	{"image: digest and labels", "", func(t *testing.T, e *env) {
		img, err := e.Image(e.context(t), e.ref)
		if err != nil {
			t.Fatal(err)
		}
		if img.Ref != e.ref || img.Digest != e.image.Digest(t) {
			t.Errorf("image %s %s, want %s %s", img.Ref, img.Digest, e.ref, e.image.Digest(t))
		}
		f, err := e.image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range f.Config.Labels {
			if img.Labels[k] != v {
				t.Errorf("label %s is %.40q, want %.40q", k, img.Labels[k], v)
			}
		}
	}},
	{"image: a name moves", "", testImageMoves},
	{"image: in use", "", func(t *testing.T, e *env) {
		ctx := e.context(t)
		ref := e.importOther(t, "in-use")
		c := e.config(t)
		c.Image = ref
		s := e.create(t, c)
		wantErr(t, "RemoveImage", e.RemoveImage(ctx, ref), backends.ErrState)
		if err := s.Remove(ctx); err != nil {
			t.Fatal(err)
		}
		if err := e.RemoveImage(ctx, ref); err != nil {
			t.Fatal(err)
		}
		_, err := e.Image(ctx, ref)
		wantErr(t, "Image", err, backends.ErrNotFound)
	}},
	{"image: broken layouts", "", testBrokenLayouts},
}

// importOther imports an image that differs from the suite's by a label.
func (e *env) importOther(t *testing.T, name string) string {
	t.Helper()
	ref := "localhost/berth-conformance-" + name + ":" + e.run
	img := Image{withLabel(t, e.image, name)}
	got, err := e.ImportImage(e.context(t), ref, img.Layout(t))
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest != img.Digest(t) || got.Labels["berth.test.variant"] != name {
		t.Fatalf("imported %s with labels %v, want %s", got.Digest, got.Labels["berth.test.variant"], img.Digest(t))
	}
	return ref
}

func testImageMoves(t *testing.T, e *env) {
	ctx := e.context(t)
	ref := e.importOther(t, "first")
	second := Image{withLabel(t, e.image, "second")}
	got, err := e.ImportImage(ctx, ref, second.Layout(t))
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest != second.Digest(t) {
		t.Errorf("the name has %s, want %s", got.Digest, second.Digest(t))
	}
	first := Image{withLabel(t, e.image, "first")}
	_, err = e.Image(ctx, first.Digest(t))
	wantErr(t, "Image of the one without a name", err, backends.ErrNotFound)
	if err := e.RemoveImage(ctx, ref); err != nil {
		t.Fatal(err)
	}
}

func testBrokenLayouts(t *testing.T, e *env) {
	whole := layoutTar(t, e.image)
	stop := errors.New("the reader stops")
	flipped := slices.Clone(whole)
	i := bytes.Index(flipped, []byte(`"rootfs"`))
	if i < 0 {
		t.Fatal("no config in the layout")
	}
	flipped[i+1] ^= 1
	tests := []struct {
		name   string
		layout io.Reader
		want   error
	}{
		{"empty", bytes.NewReader(nil), backends.ErrInvalid},
		{"text", bytes.NewReader(bytes.Repeat([]byte("text\n"), 1000)), backends.ErrInvalid},
		{"cut short", bytes.NewReader(whole[:len(whole)/2]), backends.ErrInvalid},
		{"no image", bytes.NewReader(layoutTar(t)), backends.ErrInvalid},
		{"two images", bytes.NewReader(layoutTar(t, e.image, Image{withLabel(t, e.image, "two")})), backends.ErrInvalid},
		{"a blob that isn't its digest's", bytes.NewReader(flipped), backends.ErrInvalid},
		{"a reader that fails", io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), failingReader{stop}), stop},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := e.context(t)
			ref := "localhost/berth-conformance-broken:" + e.run
			_, err := e.ImportImage(ctx, ref, tt.layout)
			wantErr(t, "ImportImage", err, tt.want)
			_, err = e.Image(ctx, ref)
			wantErr(t, "Image", err, backends.ErrNotFound)
		})
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: error %v, want %v", what, got, want)
	}
}
