package leak_test

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/berth-run/berth/internal/leak"
	"github.com/berth-run/berth/internal/redact"
)

// newSecret has characters that JSON and URLs write otherwise. It's another each time: engines keep
// what they have deleted for a while, and this binary is in a tested image.
func newSecret() leak.Secret {
	return leak.Secret{Name: "the token", Value: `tok"3N<&>\/+=` + rand.Text()}
}

// planted are texts that give the secret away, by a name; each is found in one of the forms.
func planted(t testing.TB, secret leak.Secret) map[string]string {
	t.Helper()
	inJSON, err := json.Marshal(map[string]string{"token": secret.Value})
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(inJSON))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"plain":        "Bearer " + secret.Value + ".",
		"base64-0":     base64.StdEncoding.EncodeToString([]byte(secret.Value)),
		"base64-1":     base64.StdEncoding.EncodeToString([]byte("a" + secret.Value + "z")),
		"base64-2":     base64.URLEncoding.EncodeToString([]byte("user:abc" + secret.Value + "zz")),
		"json":         string(inJSON),
		"json in json": string(twice),
		"url":          "https://h/?token=" + url.QueryEscape(secret.Value) + "&x",
		"hex":          hex.EncodeToString([]byte(secret.Value)),
	}
}

// expected are the forms that a place with one of the texts is told with, of which one is enough: a
// text that's written as JSON anew is another form of the secret.
var expected = map[string][]string{
	"plain":        {redact.FormPlain, redact.FormJSON},
	"base64-0":     {redact.FormBase64},
	"base64-1":     {redact.FormBase64},
	"base64-2":     {redact.FormBase64},
	"json":         {redact.FormJSON, redact.FormPlain},
	"json in json": {redact.FormJSON, redact.FormPlain},
	"url":          {redact.FormURL},
	"hex":          {redact.FormHex},
}

// wantAt fails unless place, and with it something of the form, was found.
func wantAt(t testing.TB, found []leak.Finding, place, text string) {
	t.Helper()
	for _, f := range found {
		if f.Place == place && slices.Contains(expected[text], f.Form) {
			return
		}
	}
	t.Errorf("%s: %s wasn't found; found: %v", place, text, found)
}

// runFiles are those that a run reads and writes beside the engine.
var runFiles = []string{
	"bundle/bundle.json", "config.toml", "berth.stderr", "gateway.jsonl", "results/0/0.json",
	"artifacts/shard-0/0/rb-001-x/matched-rollout.jsonl", "artifacts/shard-0/0/rb-001-x/codex-app-server.log",
	"run.json", "traces/v/rb-001/0.json", "results.json", "summary.json", "report/index.html", "report/data.js",
}

// TestFiles plants each form in each file of a run, among text that's long enough for several pieces.
func TestFiles(t *testing.T) {
	secret := newSecret()
	for form, text := range planted(t, secret) {
		for _, file := range runFiles {
			t.Run(form+" in "+file, func(t *testing.T) {
				dir := t.TempDir()
				for _, f := range runFiles {
					write(t, filepath.Join(dir, f), strings.Repeat("Nothing here.\n", 100))
				}
				write(t, filepath.Join(dir, file), strings.Repeat("x", 5)+text+strings.Repeat("y", 9))
				s := leak.New(secret)
				if err := s.Tree("run", dir); err != nil {
					t.Fatal(err)
				}
				for _, f := range s.Found() {
					if f.Place != "run: "+file {
						t.Errorf("also found: %v", f)
					}
				}
				wantAt(t, s.Found(), "run: "+file, form)
			})
		}
	}
}

// TestNames: a file's name and a link's target tell it as well.
func TestNames(t *testing.T) {
	name := leak.Secret{Name: "the token", Value: rand.Text()}
	for what, plant := range map[string]func(dir string) error{
		"file": func(dir string) error { return os.WriteFile(filepath.Join(dir, name.Value), nil, 0o600) },
		"link": func(dir string) error { return os.Symlink(name.Value, filepath.Join(dir, "l")) },
	} {
		dir := t.TempDir()
		if err := plant(dir); err != nil {
			t.Fatal(err)
		}
		s := leak.New(name)
		if err := s.Tree("run", dir); err != nil {
			t.Fatal(err)
		}
		if f := s.Found(); len(f) != 1 || f[0].Place != "run: names" {
			t.Errorf("%s: found %v", what, f)
		}
	}
}

// TestBoundary puts the secret across every place where a stream's pieces meet.
func TestBoundary(t *testing.T) {
	secret := newSecret()
	const piece = 1 << 20
	for _, at := range []int{0, piece - 300, piece - 10, piece, piece + 6*len(secret.Value) - 5, 2*piece - 7, 3*piece + 1} {
		s := leak.New(secret)
		if err := s.Stream("x", strings.NewReader(strings.Repeat("a", at)+secret.Value+strings.Repeat("b", 100))); err != nil {
			t.Fatal(err)
		}
		wantAt(t, s.Found(), "x", "plain")
	}
}

// TestPacked finds the secret in what packs files, and in that within each other.
func TestPacked(t *testing.T) {
	secret := newSecret()
	layer := tarred(t, "etc/motd", []byte(secret.Value))
	for name, tt := range map[string]struct {
		body  []byte
		place string
	}{
		"gzip":            {gzipped(t, []byte(secret.Value)), "x"},
		"zstd":            {zstded(t, []byte(secret.Value)), "x"},
		"tar":             {layer, "x: etc/motd"},
		"tar's names":     {tarred(t, "etc/"+secret.Value, nil), "x: names"},
		"gzip layer":      {gzipped(t, layer), "x: etc/motd"},
		"layer in a tar":  {tarred(t, "blobs/sha256/1", gzipped(t, layer)), "x: blobs/sha256/1: etc/motd"},
		"zstd in a tar":   {tarred(t, "blobs/sha256/1", zstded(t, layer)), "x: blobs/sha256/1: etc/motd"},
		"gzipped archive": {gzipped(t, tarred(t, "blobs/sha256/1", gzipped(t, layer))), "x: blobs/sha256/1: etc/motd"},
	} {
		t.Run(name, func(t *testing.T) {
			s := leak.New(secret)
			if err := s.Stream("x", bytes.NewReader(tt.body)); err != nil {
				t.Fatal(err)
			}
			wantAt(t, s.Found(), tt.place, "plain")
		})
	}
}

// TestBroken: what can't be read isn't clean.
func TestBroken(t *testing.T) {
	secret := newSecret()
	whole := gzipped(t, []byte(strings.Repeat(secret.Value, 100)))
	for name, body := range map[string][]byte{"gzip": whole[:len(whole)/2], "tar": tarred(t, "a", make([]byte, 5000))[:1000]} {
		if err := leak.New(secret).Stream("x", bytes.NewReader(body)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestClean: nothing is found where nothing is, and what was looked at is told.
func TestClean(t *testing.T) {
	secret := newSecret()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "run.json"), secret.Value[1:])
	s := leak.New(secret)
	if err := s.Tree("run", dir); err != nil {
		t.Fatal(err)
	}
	if f := s.Found(); len(f) != 0 {
		t.Errorf("found %v", f)
	}
	if n := s.Looked("run: run.json"); n != int64(len(secret.Value)-1) {
		t.Errorf("looked at %d bytes", n)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func gzipped(t testing.TB, b []byte) []byte {
	return packed(t, b, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
}

func zstded(t testing.TB, b []byte) []byte {
	return packed(t, b, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })
}

func packed(t testing.TB, b []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := open(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
