package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCopy(t *testing.T) {
	e := file("a/b/c", "12345")
	e.Mode, e.Uid, e.Gname = 0o6755, 7, "staff"
	dir := entry{Header: tar.Header{Typeflag: tar.TypeDir, Name: "a/", Mode: 0o750}}
	self := entry{Header: tar.Header{Typeflag: tar.TypeDir, Name: "./", Mode: 0o755}}
	var b bytes.Buffer
	got, err := Copy(&b, stream(t, self, e, dir, link("a/l", "b/c")), Limits{})
	if err != nil || got != (Totals{Entries: 3, Bytes: 5}) {
		t.Errorf("%+v, %v", got, err)
	}
	type short struct {
		Name string
		Mode int64
		Uid  int
		Text string
	}
	var all []short
	for r := tar.NewReader(&b); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || h.Gname != "" || h.ModTime.Unix() == 0 {
			t.Errorf("%+v, %v", h, err)
		}
		all = append(all, short{h.Name, h.Mode, h.Uid, string(text) + h.Linkname})
	}
	want := []short{{"a/", 0o700, 0, ""}, {"a/b/", 0o700, 0, ""}, {"a/b/c", 0o755, 0, "12345"}, {"a/", 0o750, 0, ""}, {"a/l", 0, 0, "b/c"}}
	if d := cmp.Diff(want, all); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestMeasure: what Pack writes is what was measured.
func TestMeasure(t *testing.T) {
	type step func(dir string) error
	write := func(name string) step {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte("12345"), 0o600) }
	}
	tests := map[string]struct {
		steps []step
		name  string
		want  Measured
	}{
		"file":   {nil, "d/f", Measured{Totals: Totals{1, 5}, Plain: true}},
		"folder": {nil, "d", Measured{Totals: Totals{1, 5}, Plain: true, Dir: true}},
		"all":    {[]step{write("g")}, ".", Measured{Totals: Totals{3, 10}, Plain: true, Dir: true}},
		"inner link": {[]step{func(dir string) error { return os.Symlink("f", dir+"/d/l") }},
			"d", Measured{Totals: Totals{2, 5}, Plain: true, Dir: true}},
		"outer link": {[]step{func(dir string) error { return os.Symlink("../g", dir+"/d/l") }},
			"d", Measured{Totals: Totals{2, 5}, Dir: true}},
		"behind a link": {[]step{func(dir string) error { return os.Symlink("d", dir+"/l") }},
			"l/f", Measured{Totals: Totals{1, 5}}},
		"two names": {[]step{func(dir string) error { return os.Link(dir+"/d/f", dir+"/g") }},
			"d", Measured{Totals: Totals{1, 5}, Dir: true}},
		"may not be read": {[]step{write("d/g"), func(dir string) error { return os.Chmod(dir+"/d/g", 0o200) }},
			"d", Measured{Totals: Totals{2, 10}, Dir: true}},
		"no text": {[]step{write("d/\xff")}, "d", Measured{Totals: Totals{1, 5}, Dir: true}},
		"pipe": {[]step{func(dir string) error { return syscall.Mkfifo(dir+"/d/p", 0o600) }},
			"d", Measured{Totals: Totals{2, 5}, Dir: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, dir := root(t)
			if err := errors.Join(os.Mkdir(filepath.Join(dir, "d"), 0o700), write("d/f")(dir)); err != nil {
				t.Fatal(err)
			}
			for _, s := range tt.steps {
				if err := s(dir); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Measure(r, tt.name)
			if err != nil || got != tt.want {
				t.Errorf("%+v, %v; want %+v", got, err, tt.want)
			}
			var packed bytes.Buffer
			if err := Pack(&packed, r, tt.name); err != nil && (tt.want.Plain || !errors.Is(err, ErrLeftOut)) {
				t.Fatal(err)
			}
			if sum, err := Copy(io.Discard, &packed, Limits{}); err != nil || got.Plain && sum != got.Totals {
				t.Errorf("Pack wrote %+v, %v", sum, err)
			}
		})
	}
}
