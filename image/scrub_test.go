package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func containsLine(err error, want string) bool { return strings.Contains(err.Error(), want) }

func TestScrub(t *testing.T) {
	const epoch = 1_700_000_000
	late, early := time.Unix(epoch+5, 0), time.Unix(epoch-5, 0)
	status := "Package: b\nStatus: install ok installed\nVersion: 2:1.0-1\nDescription: x\n more\n\n" +
		"Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\nPackage: a\nStatus: install ok installed\nVersion: 1\n"
	caps := map[string]string{"SCHILY.xattr.security.capability": "\x01\x00\x00\x02"}
	in := tarOf(t,
		file{tar.Header{Typeflag: tar.TypeDir, Name: "./", Mode: 0o755}, ""},
		file{tar.Header{Typeflag: tar.TypeLink, Name: "./bin/hard", Linkname: "./bin/su"}, ""},
		file{tar.Header{Typeflag: tar.TypeSymlink, Name: "./bin/soft", Linkname: "./su", Mode: 0o777}, ""},
		file{tar.Header{Name: "./bin/keyring", Mode: 0o755, PAXRecords: caps}, "x"},
		file{tar.Header{Name: "./bin/su", Mode: 0o4755, ModTime: late, Uname: "root"}, "x"},
		file{tar.Header{Typeflag: tar.TypeDir, Name: "./dev/", Mode: 0o755}, ""},
		file{tar.Header{Typeflag: tar.TypeChar, Name: "./dev/null", Mode: 0o666}, ""},
		file{tar.Header{Name: "./etc/hostname", Mode: 0o644}, "machine"},
		file{tar.Header{Name: "./etc/machine-id", Mode: 0o644}, "uninitialized"},
		file{tar.Header{Name: "./etc/shadow", Mode: 0o640, Gid: 42, ModTime: early}, "root:*:1::::::\n"},
		file{tar.Header{Typeflag: tar.TypeDir, Name: "./tmp/", Mode: 0o1777}, ""},
		file{tar.Header{Name: "./usr/share/doc/a/README", Mode: 0o644}, "x"},
		file{tar.Header{Name: "./usr/share/doc/a/copyright", Mode: 0o644}, "x"},
		file{tar.Header{Name: "./usr/share/man/man1/a.1.gz", Mode: 0o644}, "x"},
		file{tar.Header{Typeflag: tar.TypeDir, Name: "./var/cache/", Mode: 0o755}, ""},
		file{tar.Header{Name: "./var/cache/apt/pkgcache.bin", Mode: 0o644}, "x"},
		file{tar.Header{Name: "./var/lib/dpkg/status", Mode: 0o644}, status},
		file{tar.Header{Typeflag: tar.TypeDir, Name: "./var/mail/", Mode: 0o2775, Gid: 8}, ""},
		file{tar.Header{Name: "./var/log/dpkg.log", Mode: 0o644}, "x"},
	)
	var out bytes.Buffer
	packages, err := scrub(bytes.NewReader(in), &out, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a=1", "b=2:1.0-1"}; !slices.Equal(packages, want) {
		t.Errorf("packages %q, want %q", packages, want)
	}
	want := []string{
		"0000 0:0 bin/hard -> bin/su", "0777 0:0 bin/soft -> ./su", "0755 0:0 bin/keyring", "0755 0:0 bin/su",
		"0755 0:0 dev/", "0640 0:42 etc/shadow", "1777 0:0 tmp/", "0644 0:0 usr/share/doc/a/copyright",
		"0755 0:0 var/cache/", "0644 0:0 var/lib/dpkg/status", "0775 0:8 var/mail/",
	}
	if got := listTar(t, bytes.NewReader(out.Bytes())); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for tr := tar.NewReader(&out); ; {
		h, err := tr.Next()
		if err != nil {
			break
		}
		if len(h.PAXRecords) > 0 || h.Uname != "" || h.ModTime.Unix() > epoch {
			t.Errorf("%s keeps %v, %q, %v", h.Name, h.PAXRecords, h.Uname, h.ModTime)
		}
		if h.Name == "etc/shadow" && !h.ModTime.Equal(early) {
			t.Errorf("an old file's time became %v", h.ModTime)
		}
	}
}

func TestScrubRefuses(t *testing.T) {
	for what, h := range map[string]tar.Header{
		"an id too high":   {Name: "./a", Uid: 65536},
		"a group too high": {Name: "./a", Gid: 100000},
		"a device":         {Name: "./a", Typeflag: tar.TypeBlock},
		"a pipe":           {Name: "./a", Typeflag: tar.TypeFifo},
	} {
		_, err := scrub(bytes.NewReader(tarOf(t, file{h, ""})), new(bytes.Buffer), 0)
		if !errors.Is(err, ErrUnsafe) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	whole := tarOf(t, file{tar.Header{Name: "./a"}, strings.Repeat("x", 5000)})
	if _, err := scrub(bytes.NewReader(whole[:2000]), new(bytes.Buffer), 0); err == nil {
		t.Error("a tar that was cut short passed")
	}
}
