package backendtest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest/probe"
	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/oci"
)

// fileCases move files as a run does, over a shard's channel, with the engine's copy where it has one: so
// the same comes of the same tar stream on every engine. Each stream goes once as it is and once behind a
// file that is large enough for the engine to be asked.
var fileCases = []testCase{
	{"files: in and out", "", testFiles},
	{"files: what an agent leaves", "", testLeftFiles},
	{"files: hostile streams", "", testHostileFiles},
}

// large is above what goes over the link itself.
const large = 5 << 20

// worker makes a shard whose PID 1 is the worker, and links to it.
func (e *env) worker(t *testing.T) (backends.Shard, *channel.Client) {
	t.Helper()
	c := e.config(t)
	c.Spec.Process.Args = []string{oci.WorkerPath, "init"}
	s := e.create(t, c)
	if err := s.Start(e.context(t)); err != nil {
		t.Fatal(err)
	}
	info, err := e.Info(e.context(t))
	if err != nil {
		t.Fatal(err)
	}
	o := channel.Options{AttachTimeout: limit}
	if info.Capabilities.Copy {
		o.Bulk = s
	}
	// The worker may not listen yet.
	for ctx := e.context(t); ; {
		link, err := channel.Dial(ctx, e.Channel(s), o)
		if err == nil {
			t.Cleanup(func() { link.Close() })
			return s, link
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// inside is where the probe finds a path of the shard.
func (e *env) inside(s backends.Shard, name string) string {
	if e.Path == nil {
		return name
	}
	return e.Path(s, name)
}

// listed is what is below a folder of the shard.
func (e *env) listed(t *testing.T, s backends.Shard, dir string) map[string]probe.Entry {
	t.Helper()
	var got map[string]probe.Entry
	if err := json.Unmarshal(e.output(t, s, nil, "list", e.inside(s, dir)), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// fetched is what comes back of a path in the shard.
func (e *env) fetched(t *testing.T, link *channel.Client, name string) map[string]string {
	t.Helper()
	var b bytes.Buffer
	if err := link.Get(e.context(t), name, &b); err != nil {
		t.Fatal(err)
	}
	return tarEntries(t, b.Bytes())
}

// withLarge gives a stream's entries once alone and once behind a large file.
func withLarge(t *testing.T, entries []tarEntry, try func(t *testing.T, entries []tarEntry)) {
	t.Run("small", func(t *testing.T) { try(t, entries) })
	t.Run("large", func(t *testing.T) { try(t, append([]tarEntry{file("large", large, 0o600)}, entries...)) })
}

// tarEntry is an entry of a stream, and what has to come of it.
type tarEntry struct {
	tar.Header
	// holes, if set, makes it a file in GNU's sparse form: all but its last bytes are a hole.
	holes bool
	mode  string // as listed
}

func file(name string, size, mode int64) tarEntry {
	return tarEntry{Header: tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: mode}, mode: os.FileMode(mode & 0o777).String()}
}

func folder(name string, mode int64) tarEntry {
	return tarEntry{Header: tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode}, mode: "d" + os.FileMode(mode & 0o777).String()[1:]}
}

func link(name, target string) tarEntry {
	return tarEntry{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}, mode: "Lrwxrwxrwx"}
}

func sparse(name string, size int64) tarEntry {
	e := file(name, size, 0o600)
	e.holes = true
	return e
}

func testFiles(t *testing.T, e *env) {
	long := strings.Repeat("n", 200)
	deep := strings.Repeat("deeper-and-deeper/", 20)
	entries := []tarEntry{
		folder("dir", 0o750), file("dir/run", 3, 0o755), file("dir/"+long, 0, 0o400), file("dir/ü \n", 1, 0o640),
		link("dir/link", "../dir/run"), link("dangling", "dir/gone"), file("set-id", 5, 0o6755), folder("sticky", 0o1777),
		sparse("sparse", 1<<20), file(deep+"file", 70_000, 0o600), folder("locked", 0o500),
	}
	s, link := e.worker(t)
	withLarge(t, entries, func(t *testing.T, entries []tarEntry) {
		dir := oci.Home + "/" + path.Base(t.Name())
		if err := link.Put(e.context(t), dir, bytes.NewReader(stream(t, entries))); err != nil {
			t.Fatal(err)
		}
		want, back := expected(e, entries)
		if d := cmp.Diff(want, e.listed(t, s, dir)); d != "" {
			t.Errorf("in the shard (-want +got)\n%s", d)
		}
		if d := cmp.Diff(back, e.fetched(t, link, dir)); d != "" {
			t.Errorf("came back (-want +got)\n%s", d)
		}
	})
}

// expected is how entries are listed in the shard and how they come back.
func expected(e *env, entries []tarEntry) (map[string]probe.Entry, map[string]string) {
	listed, back := map[string]probe.Entry{}, map[string]string{}
	own := probe.Entry{UID: oci.UID, GID: oci.GID}
	if e.Path != nil { // no shard's user, but this process's
		own = probe.Entry{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	}
	for _, entry := range entries {
		name := path.Clean(entry.Name)
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, there := listed[dir]; !there { // one that is only in a name
				own.Mode = "drwx------"
				listed[dir], back[dir] = own, tarText(tar.TypeDir, 0o700, "", nil)
			}
		}
		got := own
		got.Mode, got.Size, got.Link = entry.mode, entry.Size, entry.Linkname
		listed[name] = got
		back[name] = tarText(entry.Typeflag, entry.Mode&0o777, entry.Linkname, entry.content())
	}
	return listed, back
}

func (e tarEntry) content() []byte {
	b := slices.Repeat(probe.Pattern, int(e.Size)/len(probe.Pattern)+1)[:e.Size]
	if e.holes {
		clear(b[:len(b)-sparseData])
	}
	return b
}

// tarText is an entry as tarEntries gives it.
func tarText(typ byte, mode int64, target string, content []byte) string {
	return fmt.Sprintf("%c %o %q %x", typ, mode, target, sha256.Sum256(content))
}

// testLeftFiles: a hole is zeros, of two names each is a file, and what leads out or is no file stays where it is.
func testLeftFiles(t *testing.T, e *env) {
	s, link := e.worker(t)
	e.output(t, s, nil, "plant", e.inside(s, oci.Home+"/left"))
	hole := append(make([]byte, probe.Sparse-len(probe.SparseEnd)), probe.SparseEnd...)
	for dir, want := range map[string]map[string]string{
		"whole": {"sparse": tarText(tar.TypeReg, 0o600, "", hole)},
		"odd": {
			"file": tarText(tar.TypeReg, 0o444, "", []byte("x")), "sub": tarText(tar.TypeDir, 0o700, "", nil),
			"sub/same":   tarText(tar.TypeReg, 0o444, "", []byte("x")),
			"sub/inside": tarText(tar.TypeSymlink, 0o777, "../file", nil), "dangling": tarText(tar.TypeSymlink, 0o777, "gone", nil),
		},
	} {
		if d := cmp.Diff(want, e.fetched(t, link, oci.Home+"/left/"+dir)); d != "" {
			t.Errorf("%s (-want +got)\n%s", dir, d)
		}
	}
}

// testHostileFiles: a stream that leaves its folder, or brings what is no file, is refused whole.
func testHostileFiles(t *testing.T, e *env) {
	of := func(typ byte, name, target string) tarEntry {
		return tarEntry{Header: tar.Header{Typeflag: typ, Name: name, Linkname: target, Mode: 0o644}}
	}
	hostile := map[string][]tarEntry{
		"parent":              {file("../x", 1, 0o644)},
		"parent later on":     {file("a/../../x", 1, 0o644)},
		"folder as parent":    {folder("a/../../b", 0o755)},
		"absolute":            {file(oci.Home+"/x", 1, 0o644)},
		"link outside":        {link("a/l", "../../x")},
		"link to absolute":    {link("l", oci.Home)},
		"through a link":      {folder("d", 0o755), link("l", "d"), link("m", "l/../.."), file("m/x", 1, 0o644)},
		"over a link":         {link("l", "target"), file("l", 1, 0o644)},
		"twice":               {file("a", 1, 0o644), file("a", 2, 0o644)},
		"hard link":           {file("a", 1, 0o644), of(tar.TypeLink, "h", "a")},
		"hard link outside":   {of(tar.TypeLink, "h", "/etc/passwd")},
		"character device":    {of(tar.TypeChar, "d", "")},
		"block device":        {of(tar.TypeBlock, "d", "")},
		"pipe":                {of(tar.TypeFifo, "p", "")},
		"harmless before bad": {file("a", 1, 0o644), folder("d", 0o755), file("d/../../x", 1, 0o644)},
	}
	s, link := e.worker(t)
	before := e.listed(t, s, oci.Home)
	for _, name := range slices.Sorted(maps.Keys(hostile)) {
		t.Run(name, func(t *testing.T) {
			withLarge(t, hostile[name], func(t *testing.T, entries []tarEntry) {
				err := link.Put(e.context(t), oci.Home+"/in", bytes.NewReader(stream(t, entries)))
				wantErr(t, "Put", err, channel.ErrInvalid)
			})
		})
	}
	if d := cmp.Diff(before, e.listed(t, s, oci.Home)); d != "" {
		t.Errorf("it isn't as it was (-want +got)\n%s", d)
	}
}

// stream packs entries.
func stream(t *testing.T, entries []tarEntry) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, e := range entries {
		if e.holes {
			b.Write(sparseTar(t, e))
			continue
		}
		w := tar.NewWriter(&b)
		writeEntry(t, w, &e.Header, e.content())
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := tar.NewWriter(&b).Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sparseData is what a sparse entry has besides its hole: one block.
const sparseData = 512

// sparseTar is an entry in GNU's old sparse form, which the standard library only reads ("Sparse Formats" of
// the GNU tar manual): where the data is, how much it is, and the size with the holes.
func sparseTar(t *testing.T, e tarEntry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	data := e.content()[e.Size-sparseData:]
	writeEntry(t, w, &tar.Header{Typeflag: tar.TypeReg, Format: tar.FormatGNU, Name: e.Name, Mode: e.Mode}, data)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	h := b.Bytes()[:512]
	h[156] = tar.TypeGNUSparse
	copy(h[386:], fmt.Sprintf("%011o\x00%011o\x00", e.Size-sparseData, sparseData))
	copy(h[483:], fmt.Sprintf("%011o\x00", e.Size))
	copy(h[148:156], "        ")
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return b.Bytes()
}
