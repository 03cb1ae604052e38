package backendtest

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest/probe"
	"github.com/berth-run/berth/oci"
)

const copyBytes = 64 << 20

var copyCases = []testCase{
	{"copy: in and out", "Copy", func(t *testing.T, e *env) {
		s := e.started(t)
		sent, want := copyTree(t)
		if err := s.CopyIn(e.context(t), oci.Home, bytes.NewReader(sent)); err != nil {
			t.Fatal(err)
		}
		e.wantListed(t, s, oci.Home, want)
		var got bytes.Buffer
		if err := s.CopyOut(e.context(t), oci.Home+"/.", &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tarEntries(t, sent), tarEntries(t, got.Bytes())); d != "" {
			t.Errorf("came back (-want +got)\n%s", d)
		}
	}},
	{"copy: names of what comes out", "Copy", func(t *testing.T, e *env) {
		s := e.started(t)
		sent := tarOf(t, tar.Header{Typeflag: tar.TypeDir, Name: "d/", Mode: 0o755}, tar.Header{Typeflag: tar.TypeReg, Name: "d/f", Mode: 0o600})
		if err := s.CopyIn(e.context(t), "/tmp", bytes.NewReader(sent)); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string][]string{"/tmp/d": {"d", "d/f"}, "/tmp/d/.": {"f"}, "/tmp/d/f": {"f"}} {
			var got bytes.Buffer
			if err := s.CopyOut(e.context(t), path, &got); err != nil {
				t.Fatal(err)
			}
			names := []string{}
			for name := range tarEntries(t, got.Bytes()) {
				names = append(names, name)
			}
			slices.Sort(names)
			if d := cmp.Diff(want, names); d != "" {
				t.Errorf("%s (-want +got)\n%s", path, d)
			}
		}
	}},
	{"copy: what isn't there", "Copy", func(t *testing.T, e *env) {
		s := e.started(t)
		wantErr(t, "CopyIn", s.CopyIn(e.context(t), oci.Home+"/absent", bytes.NewReader(tarOf(t))), backends.ErrNotFound)
		wantErr(t, "CopyOut", s.CopyOut(e.context(t), oci.Home+"/absent", io.Discard), backends.ErrNotFound)
		wantErr(t, "CopyOut", s.CopyOut(e.context(t), "absent", io.Discard), backends.ErrInvalid)
		e.wantListed(t, s, oci.Home, map[string]probe.Entry{})
	}},
	{"copy: before the start and after the end", "Copy", func(t *testing.T, e *env) {
		s := e.create(t, e.config(t, "exit", "0"))
		both := func() {
			wantErr(t, "CopyIn", s.CopyIn(e.context(t), "/tmp", bytes.NewReader(tarOf(t))), backends.ErrState)
			wantErr(t, "CopyOut", s.CopyOut(e.context(t), "/tmp", io.Discard), backends.ErrState)
		}
		both()
		if err := s.Start(e.context(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Wait(e.context(t)); err != nil {
			t.Fatal(err)
		}
		both()
	}},
	{"copy: cancelled, and broken off", "Copy", func(t *testing.T, e *env) {
		s := e.started(t)
		sent, _ := copyTree(t)
		cause := errors.New("cause")
		ctx, cancel := context.WithCancelCause(e.context(t))
		stopping := readerFunc(func([]byte) (int, error) { cancel(cause); <-ctx.Done(); return 0, io.EOF })
		wantErr(t, "CopyIn", s.CopyIn(ctx, "/tmp", io.MultiReader(bytes.NewReader(sent[:len(sent)/2]), stopping)), cause)
		cut := errors.New("cut")
		wantErr(t, "CopyIn", s.CopyIn(e.context(t), "/tmp", io.MultiReader(bytes.NewReader(sent[:1<<20]), failingReader{cut})), cut)
		wantErr(t, "CopyOut", s.CopyOut(e.context(t), "/usr", failingWriter{cut}), cut)
	}},
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// copyTree is a tar stream, and how what comes of it is listed.
func copyTree(t *testing.T) ([]byte, map[string]probe.Entry) {
	t.Helper()
	long := strings.Repeat("n", 200)
	sent := tarOf(t,
		tar.Header{Typeflag: tar.TypeDir, Name: "dir/", Mode: 0o750},
		tar.Header{Typeflag: tar.TypeReg, Name: "dir/run", Mode: 0o755, Size: 3},
		tar.Header{Typeflag: tar.TypeReg, Name: "dir/" + long, Mode: 0o400},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "dir/link", Linkname: "../big", Mode: 0o777},
		tar.Header{Typeflag: tar.TypeReg, Name: "big", Mode: 0o600, Size: copyBytes},
		tar.Header{Typeflag: tar.TypeDir, Name: "locked/", Mode: 0o500},
	)
	own := func(e probe.Entry) probe.Entry {
		e.UID, e.GID = oci.UID, oci.GID
		return e
	}
	return sent, map[string]probe.Entry{
		"dir":         own(probe.Entry{Mode: "drwxr-x---"}),
		"dir/run":     own(probe.Entry{Mode: "-rwxr-xr-x", Size: 3}),
		"dir/" + long: own(probe.Entry{Mode: "-r--------"}),
		"dir/link":    own(probe.Entry{Mode: "Lrwxrwxrwx", Link: "../big"}),
		"big":         own(probe.Entry{Mode: "-rw-------", Size: copyBytes}),
		"locked":      own(probe.Entry{Mode: "dr-x------"}),
	}
}

// tarOf makes a tar stream whose files hold probe.Pattern.
func tarOf(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		writeEntry(t, w, &h, slices.Repeat(probe.Pattern, int(h.Size)/len(probe.Pattern)+1)[:h.Size])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tarEntries gives name → type, mode, target and checksum. The folder itself isn't among them.
func tarEntries(t *testing.T, stream []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	r := tar.NewReader(bytes.NewReader(stream))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, r); err != nil {
			t.Fatal(err)
		}
		if name := strings.TrimSuffix(h.Name, "/"); name != "." {
			all[name] = fmt.Sprintf("%c %o %q %x", h.Typeflag, h.Mode, h.Linkname, sum.Sum(nil))
		}
	}
}

func (e *env) wantListed(t *testing.T, s backends.Shard, dir string, want map[string]probe.Entry) {
	t.Helper()
	var got map[string]probe.Entry
	if err := json.Unmarshal(e.output(t, s, nil, "list", dir), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got)\n%s", dir, d)
	}
}
