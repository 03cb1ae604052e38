package desktop

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/oci"
)

// TestSessionInShards runs the session's own tests where a session lives: in hardened shards without
// a network, on each suite. What fails or is skipped in there fails here.
func TestSessionInShards(t *testing.T) {
	testrig.NeedRootless(t)
	binaries := testrig.SessionTests(t)
	onSuites(t, func(t *testing.T, suite string) {
		for _, pkg := range testrig.SessionPackages {
			t.Run(path.Base(pkg), func(t *testing.T) { testInShard(t, suite, pkg, binaries) })
		}
	})
}

// testLimit bounds one package's tests in a shard.
const testLimit = 20 * time.Minute

func testInShard(t *testing.T, suite, pkg, binaries string) {
	rig.TakePlace(t)
	s := desktopShard(t, desktopImage(t, suite))
	binary := path.Base(pkg) + ".test"
	err := s.CopyIn(t.Context(), "/tmp", testFolder(t, pkg, filepath.Join(binaries, binary)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	status, err := s.Exec(t.Context(), backends.Process{
		Args:   []string{"/usr/bin/env", "-C", "/tmp/" + pkg, "./" + binary, "-test.v", "-test.timeout=" + testLimit.String()},
		Env:    []string{"BERTH_CODEX=/opt/codex/bin/codex"},
		Stdout: &out, Stderr: &out,
	})
	if err != nil {
		t.Fatal(err)
	}
	retell(t, status, out.String())
}

// desktopShard starts a shard as a run does, which goes with the test.
func desktopShard(t *testing.T, ref string) backends.Shard {
	t.Helper()
	spec, err := oci.ShardSpec{
		Args:        []string{oci.WorkerPath, "init", "--deadman", (2 * testLimit).String()},
		MemoryBytes: 4 << 30, TmpBytes: 1 << 30,
	}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	s, err := testrig.Podman(t).Create(t.Context(), backends.Config{
		Name: "berth-e2e-" + strings.ToLower(rand.Text()), Image: ref, Spec: spec, Network: backends.NetworkNone,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
		defer cancel()
		if err := s.Remove(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// testFolder packs a package's tests as `go test` runs them: the binary beside its testdata.
func testFolder(t *testing.T, pkg, binary string) io.Reader {
	t.Helper()
	body, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{path.Join(pkg, path.Base(pkg)+".test"): body}
	data := os.DirFS(filepath.Join("../../..", pkg))
	err = fs.WalkDir(data, "testdata", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files[path.Join(pkg, name)], err = fs.ReadFile(data, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // not every package has any
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, body := range files {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(body))})
		if _, werr := w.Write(body); err != nil || werr != nil {
			t.Fatal(err, werr)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// verdict is what `-test.v` says of a test that is over.
var verdict = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+) \(`)

// retell makes every test that ran in the shard one of this test's.
func retell(t *testing.T, status backends.ExitStatus, out string) {
	t.Helper()
	passed := 0
	for _, m := range verdict.FindAllStringSubmatch(out, -1) {
		t.Run(m[2], func(t *testing.T) {
			switch m[1] {
			case "PASS":
				passed++
			case "SKIP":
				t.Error("it was skipped, and here all is there that it could need")
			default:
				t.Error(said(out, m[2]))
			}
		})
	}
	if status.Code != 0 || passed == 0 {
		t.Errorf("exit status %d, %d tests passed; the end of it all:\n%s", status.Code, passed, out[max(0, len(out)-1000):])
	}
}

// turn is where the output of `-test.v` goes over to another test's.
var turn = regexp.MustCompile(`^=== (?:RUN|PAUSE|CONT|NAME) +(\S+)`)

// said is what one test printed.
func said(out, test string) string {
	var text strings.Builder
	now := ""
	for line := range strings.Lines(out) {
		if m := turn.FindStringSubmatch(line); m != nil {
			now = m[1]
		} else if now == test {
			text.WriteString(line)
		}
	}
	return text.String()
}
