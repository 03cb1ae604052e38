package containerd

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-run/berth/backends"
)

func layer(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(w, bytes.NewReader(bytes.Repeat([]byte("x"), int(h.Size))), h.Size); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T, p []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestShift(t *testing.T) {
	in := []tar.Header{
		{Typeflag: tar.TypeDir, Name: "d/", Mode: 0o1777},
		{Typeflag: tar.TypeReg, Name: "d/f", Mode: 0o4755, Uid: 1000, Gid: 65535, Uname: "berth", Size: 3000},
		{Typeflag: tar.TypeLink, Name: "d/l", Linkname: "d/f"},
		{Typeflag: tar.TypeSymlink, Name: "d/s", Linkname: "/etc", Uid: 1},
		{Typeflag: tar.TypeReg, Name: "d/.wh.gone"},
		{Typeflag: tar.TypeReg, Name: "d/x", PAXRecords: map[string]string{"SCHILY.xattr.user.a": "\x00\xff"}, Format: tar.FormatPAX},
	}
	r := idRange{UID: freeID, GID: 100}
	plain := layer(t, in...)
	for mediaType, p := range map[string][]byte{ocispec.MediaTypeImageLayer: plain, ocispec.MediaTypeImageLayerGzip: zipped(t, plain)} {
		var out bytes.Buffer
		if err := r.shift(&out, bytes.NewReader(p), mediaType); err != nil {
			t.Fatal(err)
		}
		tr := tar.NewReader(&out)
		for _, want := range in {
			got, err := tr.Next()
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(tr)
			if err != nil || int64(len(content)) != want.Size {
				t.Errorf("%s has %d bytes, %v", want.Name, len(content), err)
			}
			type entry struct {
				Type     byte
				Name     string
				Link     string
				Mode     int64
				UID, GID int
				Xattr    string
			}
			const xattr = "SCHILY.xattr.user.a"
			if d := cmp.Diff(
				entry{want.Typeflag, want.Name, want.Linkname, want.Mode, want.Uid + freeID, want.Gid + 100, want.PAXRecords[xattr]},
				entry{got.Typeflag, got.Name, got.Linkname, got.Mode, got.Uid, got.Gid, got.PAXRecords[xattr]}); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		}
	}
}

func TestShiftRefuses(t *testing.T) {
	good := layer(t, tar.Header{Typeflag: tar.TypeReg, Name: "f", Size: 5000})
	tests := []struct {
		name, mediaType string
		layer           []byte
	}{
		{"an id beyond the range", ocispec.MediaTypeImageLayer, layer(t, tar.Header{Name: "f", Typeflag: tar.TypeReg, Uid: rangeSize})},
		{"a group beyond it", ocispec.MediaTypeImageLayer, layer(t, tar.Header{Name: "f", Typeflag: tar.TypeReg, Gid: rangeSize})},
		{"text", ocispec.MediaTypeImageLayer, bytes.Repeat([]byte("text"), 1000)},
		{"not zipped", ocispec.MediaTypeImageLayerGzip, good},
		{"encrypted", "application/vnd.oci.image.layer.v1.tar+encrypted", good},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := idRange{UID: 1, GID: 1}
			if err := r.shift(io.Discard, bytes.NewReader(tt.layer), tt.mediaType); !errors.Is(err, backends.ErrInvalid) {
				t.Errorf("%v", err)
			}
		})
	}
}
