package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

const aControl = "Package: probe-app\nVersion: 1:2.0~rc1-1\nArchitecture: all\nDepends: one (>= 1), two | three:any\nDescription: an app\n more of it\n"

// theProgram is what the client of these tests starts.
const theProgram = "usr/bin/probe-app"

var aProgram = file{tar.Header{Name: "./" + theProgram, Mode: 0o755}, "#!/bin/sh\necho app\n"}

// arOf makes an archive of names and contents in turn.
func arOf(members ...string) string {
	out := arMagic
	for i := 0; i < len(members); i += 2 {
		out += fmt.Sprintf("%-16s%-12d%-6d%-6d%-8o%-10d`\n%s", members[i], 0, 0, 0, 0o100644, len(members[i+1]), members[i+1])
		if len(members[i+1])%2 == 1 {
			out += "\n"
		}
	}
	return out
}

// packed compresses as the end of a member's name says.
func packed(t testing.TB, how string, b []byte) string {
	t.Helper()
	var buf bytes.Buffer
	var w io.WriteCloser
	var err error
	switch how {
	case "":
		return string(b)
	case ".gz":
		w = gzip.NewWriter(&buf)
	case ".xz":
		w, err = xz.NewWriter(&buf)
	case ".zst":
		w, err = zstd.NewWriter(&buf)
	}
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// debOf makes a package of a control file and what it installs.
func debOf(t testing.TB, how, control string, files ...file) string {
	t.Helper()
	c := tarOf(t, file{tar.Header{Typeflag: tar.TypeDir, Name: "./"}, ""}, file{tar.Header{Name: "./postinst", Mode: 0o755}, "exit 1"},
		file{tar.Header{Name: "./control", Mode: 0o644}, control})
	return arOf("debian-binary", "2.0\n", "control.tar"+how, packed(t, how, c), "data.tar"+how, packed(t, how, tarOf(t, files...)))
}

// debFile writes a package, and gives its name.
func debFile(t testing.TB, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "app.deb")
	writeFile(t, name, content, 0o644)
	return name
}

func TestDeb(t *testing.T) {
	for _, how := range []string{"", ".gz", ".xz", ".zst"} {
		name := debFile(t, debOf(t, how, aControl, aProgram))
		d, err := openDeb(name, "arm64")
		if err != nil {
			t.Errorf("compression %q: %v", how, err)
			continue
		}
		want := control{"probe-app", "1:2.0~rc1-1", "one (>= 1), two | three:any"}
		if d.control != want {
			t.Errorf("compression %q: got %+v, want %+v", how, d.control, want)
		}
		var out bytes.Buffer
		if err := writeDeb(&out, name, theProgram, 0); err != nil {
			t.Errorf("compression %q: %v", how, err)
		}
		if got := extract(t, bytes.NewReader(out.Bytes()))[theProgram]; got != aProgram.data {
			t.Errorf("compression %q: the program is %q", how, got)
		}
	}
}

// TestDebOfDpkg reads what dpkg-deb makes, in each of its compressions.
func TestDebOfDpkg(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("no dpkg-deb: install dpkg")
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "DEBIAN/control"), "Maintainer: nobody\n"+aControl, 0o644)
	writeFile(t, filepath.Join(dir, theProgram), aProgram.data, 0o755)
	for _, how := range []string{"none", "gzip", "xz", "zstd"} {
		name := filepath.Join(t.TempDir(), "app.deb")
		if out, err := exec.Command("dpkg-deb", "--root-owner-group", "-Z"+how, "--build", dir, name).CombinedOutput(); err != nil {
			t.Errorf("dpkg-deb -Z%s: %v: %s", how, err, out)
			continue
		}
		if d, err := openDeb(name, "amd64"); err != nil || d.version != "1:2.0~rc1-1" {
			t.Errorf("-Z%s: got %+v, %v", how, d, err)
		}
		if err := writeDeb(io.Discard, name, theProgram, 0); err != nil {
			t.Errorf("-Z%s: %v", how, err)
		}
	}
}

// TestDebLayer: what becomes of a package's files.
func TestDebLayer(t *testing.T) {
	dir := func(name string, mode int64) file {
		return file{tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode}, ""}
	}
	name := debFile(t, debOf(t, ".gz", aControl,
		dir("./", 0o755), dir("./lib/", 0o755), dir("./lib/app/", 0o700),
		file{tar.Header{Name: "./lib/app/run", Mode: 0o4750, Uid: 1234, Uname: "builder", PAXRecords: map[string]string{"SCHILY.xattr.security.capability": "\x01"}}, "x"},
		file{tar.Header{Name: "./lib/app/data", Mode: 0o600}, "data"},
		file{tar.Header{Typeflag: tar.TypeLink, Name: "./lib/app/again", Linkname: "./lib/app/data"}, ""},
		dir("./tmp/", 0o755), file{tar.Header{Name: "./tmp/lost", Mode: 0o644}, "lost"},
		file{tar.Header{Name: "./var/run/lost", Mode: 0o644}, "lost"},
		dir("./usr/", 0o2777), dir("./usr/bin/", 0o755),
		file{tar.Header{Typeflag: tar.TypeSymlink, Name: "./" + theProgram, Linkname: "/lib/app/link"}, ""},
		file{tar.Header{Typeflag: tar.TypeSymlink, Name: "./usr/lib/app/link", Linkname: "./run"}, ""},
	))
	var out bytes.Buffer
	if err := writeDeb(&out, name, theProgram, 1_700_000_000); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0755 0:0 usr/", "0755 0:0 usr/lib/", "0755 0:0 usr/lib/app/",
		"0755 0:0 usr/lib/app/run", "0644 0:0 usr/lib/app/data", "0000 0:0 usr/lib/app/again -> usr/lib/app/data",
		"0755 0:0 usr/bin/", "0777 0:0 usr/bin/probe-app -> /lib/app/link", "0777 0:0 usr/lib/app/link -> ./run",
	}
	if got := listTar(t, bytes.NewReader(out.Bytes())); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for tr := tar.NewReader(&out); ; {
		h, err := tr.Next()
		if err != nil {
			break
		}
		if len(h.PAXRecords) > 0 || h.Uname != "" || h.ModTime.Unix() != 1_700_000_000 {
			t.Errorf("%s keeps %v, %q, %v", h.Name, h.PAXRecords, h.Uname, h.ModTime)
		}
	}
}

// TestUnusablePackages: an error of one line, whatever the file is.
func TestUnusablePackages(t *testing.T) {
	whole := debOf(t, ".xz", aControl, aProgram)
	controlTar := func(text string) string {
		return string(tarOf(t, file{tar.Header{Name: "control", Mode: 0o644}, text}))
	}
	for what, tc := range map[string]struct{ content, says string }{
		"empty":              {"", "isn't a Debian package"},
		"a tar":              {string(tarOf(t, aProgram)), "isn't a Debian package"},
		"another archive":    {arOf("hello.o", "x"), "an archive, and not a Debian package"},
		"of the year 3000":   {arOf("debian-binary", "3.0\n"), "an archive, and not a Debian package"},
		"no magic":           {strings.Replace(whole, "`\n", "``", 1), "at byte 8"},
		"negative size":      {arMagic + fmt.Sprintf("%-48s%-10s`\n", "debian-binary", "-4"), "at byte 8"},
		"many members":       {arOf(slices.Repeat([]string{"x", ""}, maxMembers+1)...), "more than 16 files"},
		"no control":         {arOf("debian-binary", "2.0\n", "data.tar", ""), "no control.tar"},
		"lzma":               {arOf("debian-binary", "2.0\n", "control.tar.lzma", "x"), "gz, xz, zst or none"},
		"wrongly named":      {arOf("debian-binary", "2.0\n", "control.tar.gz", controlTar(aControl)), "control.tar.gz: gzip"},
		"control without it": {arOf("debian-binary", "2.0\n", "control.tar", string(tarOf(t))), "no control file in it: unexpected EOF"},
		"nothing in control": {arOf("debian-binary", "2.0\n", "control.tar", controlTar("")), "has 0 paragraphs"},
		"two in control":     {arOf("debian-binary", "2.0\n", "control.tar", controlTar(aControl+"\n"+aControl)), "has 2 paragraphs"},
		"no name":            {debOf(t, "", "Version: 1\nArchitecture: all\n"), `names the package "", version "1"`},
		"a path for a name":  {debOf(t, "", "Package: ../x\nVersion: 1\nArchitecture: all\n"), `"../x"`},
		"lines in a version": {debOf(t, "", "Package: xy\nVersion: 1\n 2\nArchitecture: all\n"), `version "1\n2"`},
		"another machine":    {debOf(t, "", "Package: probe-app\nVersion: 1\nArchitecture: arm64\n"), "probe-app is for arm64, and the image for amd64"},
		"source":             {debOf(t, "", "Package: probe-app\nVersion: 1\nArchitecture: source\n"), "is for source"},
		"shell in Depends":   {debOf(t, "", aControl+"Pre-Depends: x'; rm -rf /; '\n"), "which names no package"},
		"option in Depends":  {debOf(t, "", aControl+"Pre-Depends: --force\n"), `"--force", which names no package`},
		"endless Depends":    {debOf(t, "", aControl+"Pre-Depends: "+strings.Repeat("abcdefgh, ", 8000)+"\n"), "bytes long"},
		"control too large":  {arOf("debian-binary", "2.0\n", "control.tar.gz", packed(t, ".gz", []byte(controlTar(aControl+strings.Repeat(" x\n", maxControl/3))))), "unpacks to more"},
	} {
		_, err := openDeb(debFile(t, tc.content), "amd64")
		if !errors.Is(err, ErrPackage) || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want ErrPackage with %q", what, err, tc.says)
		}
	}
	if _, err := openDeb(filepath.Join(t.TempDir(), "none.deb"), "amd64"); !errors.Is(err, ErrPackage) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestCutPackages: a package that ends early anywhere is never taken for a whole one.
func TestCutPackages(t *testing.T) {
	for _, how := range []string{"", ".gz", ".xz", ".zst"} {
		whole := debOf(t, how, aControl, aProgram, file{tar.Header{Name: "./usr/lib/more", Mode: 0o644}, strings.Repeat("more ", 500)})
		for cut := 1; cut < len(whole)-1; cut += 7 {
			name := debFile(t, whole[:len(whole)-cut-1])
			_, err := openDeb(name, "amd64")
			if err == nil {
				err = writeDeb(io.Discard, name, theProgram, 0)
			}
			if !errors.Is(err, ErrPackage) {
				t.Fatalf("compression %q, %d of %d bytes cut off: %v", how, cut+1, len(whole), err)
			}
		}
	}
}

// TestAlteredPackages: where the compression has a checksum, it is looked at.
func TestAlteredPackages(t *testing.T) {
	for _, how := range []string{".gz", ".xz", ".zst"} {
		whole := debOf(t, how, aControl, aProgram)
		at := strings.Index(whole, "data.tar") + arHeaderSize
		for i := at; i < len(whole)-1; i++ {
			b := []byte(whole)
			b[i] ^= 0x55
			var out bytes.Buffer
			if err := writeDeb(&out, debFile(t, string(b)), theProgram, 0); err == nil && extract(t, &out)[theProgram] != aProgram.data {
				t.Fatalf("compression %q: a package with byte %d altered passed", how, i-at)
			}
		}
	}
}

func TestUnsafePackages(t *testing.T) {
	link := func(kind byte, name, target string) file {
		return file{tar.Header{Typeflag: kind, Name: name, Linkname: target, Mode: 0o777}, ""}
	}
	plain := func(name string) file { return file{tar.Header{Name: name, Mode: 0o644}, "x"} }
	for what, tc := range map[string]struct {
		files []file
		want  error
		says  string
	}{
		"climbs":                 {[]file{plain("./../etc/passwd")}, ErrUnsafe, `"./../etc/passwd"`},
		"climbs inside":          {[]file{plain("./usr/../../x")}, ErrUnsafe, "usr/../../x"},
		"absolute":               {[]file{plain("/etc/passwd")}, ErrUnsafe, "absolute"},
		"a whiteout":             {[]file{plain("./usr/bin/.wh.sh")}, ErrUnsafe, ".wh.sh"},
		"below a whiteout":       {[]file{plain("./usr/.wh..wh..opq/x")}, ErrUnsafe, "opq"},
		"a device":               {[]file{link(tar.TypeChar, "./usr/null", "")}, ErrUnsafe, "usr/null is a device"},
		"a pipe":                 {[]file{link(tar.TypeFifo, "./usr/pipe", "")}, ErrUnsafe, "usr/pipe is a device"},
		"below its own link":     {[]file{link(tar.TypeSymlink, "./opt/a", "/etc"), plain("./opt/a/passwd")}, ErrUnsafe, "below /opt/a"},
		"below a file":           {[]file{plain("./opt/a"), plain("./opt/a/b")}, ErrUnsafe, "below /opt/a"},
		"a link for a folder":    {[]file{plain("./opt/a/b"), link(tar.TypeSymlink, "./opt/a", "/etc")}, ErrUnsafe, "/opt/a is there twice"},
		"the same by two names":  {[]file{plain("./bin/a"), plain("./usr/bin/a")}, ErrUnsafe, "/usr/bin/a is there twice"},
		"a link for /bin":        {[]file{link(tar.TypeSymlink, "./bin", "/opt"), plain("./bin/a")}, ErrUnsafe, "below /usr/bin"},
		"hard link out":          {[]file{link(tar.TypeLink, "./opt/a", "../etc/shadow")}, ErrUnsafe, "etc/shadow"},
		"absolute hard link":     {[]file{link(tar.TypeLink, "./opt/a", "/etc/shadow")}, ErrUnsafe, "etc/shadow"},
		"hard link to no file":   {[]file{link(tar.TypeLink, "./opt/a", "./etc/shadow")}, ErrUnsafe, "isn't a file before it"},
		"hard link to a link":    {[]file{link(tar.TypeSymlink, "./opt/l", "/etc/shadow"), link(tar.TypeLink, "./opt/a", "./opt/l")}, ErrUnsafe, "isn't a file before it"},
		"another app":            {[]file{plain("./usr/bin/other")}, ErrPackage, "doesn't install /usr/bin/probe-app"},
		"nothing":                {nil, ErrPackage, "doesn't install /usr/bin/probe-app"},
		"a program that isn't":   {[]file{plain("./" + theProgram)}, ErrPackage, "isn't a program in it"},
		"a folder of its name":   {[]file{plain("./" + theProgram + "/x")}, ErrPackage, "isn't a program in it"},
		"a link to nothing":      {[]file{link(tar.TypeSymlink, "./"+theProgram, "../lib/none")}, ErrPackage, "leads to /usr/lib/none"},
		"a link out of it":       {[]file{link(tar.TypeSymlink, "./"+theProgram, "/usr/bin/python3")}, ErrPackage, "leads to /usr/bin/python3"},
		"a link to itself":       {[]file{link(tar.TypeSymlink, "./"+theProgram, "probe-app")}, ErrPackage, "leads nowhere"},
		"a program in /tmp only": {[]file{link(tar.TypeSymlink, "./"+theProgram, "/tmp/app"), {tar.Header{Name: "./tmp/app", Mode: 0o755}, "x"}}, ErrPackage, "leads to /tmp/app"},
	} {
		err := writeDeb(io.Discard, debFile(t, debOf(t, ".gz", aControl, tc.files...)), theProgram, 0)
		if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %v with %q", what, err, tc.want, tc.says)
		}
	}
}

// TestGreedyPackage: a stream that asks for 4 GiB of memory to be unpacked with doesn't get it.
func TestGreedyPackage(t *testing.T) {
	b := []byte(packed(t, ".xz", tarOf(t, aProgram)))
	header := b[12:][:(int(b[12])+1)*4] // of the first block, behind the stream's
	filter := bytes.Index(header, []byte{0x21, 1})
	if filter < 0 {
		t.Fatalf("no LZMA2 in %x", header)
	}
	header[filter+2] = 40
	sum := len(header) - 4
	binary.LittleEndian.PutUint32(header[sum:], crc32.ChecksumIEEE(header[:sum]))
	err := writeDeb(io.Discard, debFile(t, arOf("debian-binary", "2.0\n", "data.tar.xz", string(b))), theProgram, 0)
	if !errors.Is(err, ErrPackage) || !strings.Contains(err.Error(), "dictionary size exceeds max") {
		t.Errorf("got %v", err)
	}
}

// TestSparsePackage: a few bytes can't become a layer that fills the disk.
func TestSparsePackage(t *testing.T) {
	// GNU's sparse files, format 1.0: records of a PAX header, and a map of the data in front of it.
	var records string
	for _, r := range []string{"GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=opt/big", fmt.Sprintf("GNU.sparse.realsize=%d", 2*int64(maxData))} {
		records += fmt.Sprintf("%d %s\n", len(r)+4, r) // of two digits
	}
	body := tarOf(t, file{tar.Header{Name: "pax", Format: tar.FormatUSTAR}, records}, file{tar.Header{Name: "big", Format: tar.FormatUSTAR}, "0\n" + strings.Repeat("\x00", 510)})
	body[156] = tar.TypeXHeader
	sum := 0
	for i, c := range body[:512] {
		if i >= 148 && i < 156 {
			c = ' '
		}
		sum += int(c)
	}
	copy(body[148:156], fmt.Sprintf("%06o\x00 ", sum))
	deb := arOf("debian-binary", "2.0\n", "data.tar", string(body))
	err := writeDeb(io.Discard, debFile(t, deb), theProgram, 0)
	if !errors.Is(err, ErrPackage) || !strings.Contains(err.Error(), "its files have more than") {
		t.Errorf("got %v", err)
	}
}

func FuzzDeb(f *testing.F) {
	for _, how := range []string{"", ".gz", ".xz", ".zst"} {
		f.Add([]byte(debOf(f, how, aControl, aProgram)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		name := debFile(t, string(b))
		d, err := openDeb(name, "amd64")
		if err != nil {
			return
		}
		if !validPackage.MatchString(d.name) || strings.ContainsAny(d.depends, "'\n\x00") {
			t.Errorf("took %+v", d.control)
		}
		_ = writeDeb(io.Discard, name, theProgram, 0) // mostly fails; must not panic
	})
}
