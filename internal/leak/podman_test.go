package leak_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/internal/leak"
	"github.com/berth-run/berth/internal/testrig"
)

// envPlant makes this binary the program of a container: it says its arguments, writes them to files,
// says ready, and waits for its end.
const envPlant = "LEAK_PLANT"

func TestMain(m *testing.M) {
	if os.Getenv(envPlant) == "" {
		os.Exit(m.Run())
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	for i, text := range os.Args[1:] {
		fmt.Println(text)
		if err := os.WriteFile(fmt.Sprintf("/tmp/%d", i), []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	fmt.Println("ready")
	<-end
	os.Exit(0)
}

// TestEngine plants every form in every place that an engine shows or keeps, for real, and finds each.
func TestEngine(t *testing.T) {
	secret := newSecret()
	texts := planted(t, secret)
	forms := slices.Sorted(maps.Keys(texts))
	ref := plantImage(t, texts)
	id, pid := plantContainer(t, ref, forms, texts)
	hostPid := plantProcess(t, forms, texts)

	s := leak.New(secret)
	if err := s.Container(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := s.Image(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	found := s.Found()
	for i, form := range forms {
		for _, place := range []string{
			"container inspect", "container log", "image inspect",
			fmt.Sprintf("shard: /tmp: %d", i),
			pid + ": cmdline", pid + ": environ", hostPid + ": cmdline", hostPid + ": environ",
		} {
			wantAt(t, found, place, form)
		}
		wantSuffix(t, found, "image: ", ": planted/"+fmt.Sprint(i), form)
		wantSuffix(t, found, "engine: containers: ", "/userdata/config.json", form)
		wantSuffix(t, found, "engine: images: ", "", form)
		wantSuffix(t, found, "engine: database: ", "", form)
	}
}

// wantSuffix is wantAt for a place whose middle is the engine's.
func wantSuffix(t *testing.T, found []leak.Finding, prefix, suffix, form string) {
	t.Helper()
	for _, f := range found {
		if strings.HasPrefix(f.Place, prefix) && strings.HasSuffix(f.Place, suffix) && slices.Contains(expected[form], f.Form) {
			return
		}
	}
	t.Errorf("%s…%s: %s wasn't found; found: %v", prefix, suffix, form, found)
}

// TestCleanEngine: the same container without the secret has none.
func TestCleanEngine(t *testing.T) {
	secret := newSecret()
	texts := map[string]string{"a": "nothing", "b": secret.Value[1:]}
	ref := plantImage(t, texts)
	id, pid := plantContainer(t, ref, []string{"a", "b"}, texts)
	s := leak.New(secret)
	if err := s.Container(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := s.Image(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if f := s.Found(); len(f) != 0 {
		t.Errorf("found %v", f)
	}
	for _, place := range []string{
		"container inspect", "container log", "image inspect", "image: ", "shard: /tmp: 1", pid + ": cmdline", pid + ": environ",
		"engine: containers: ", "engine: images: ", "engine: database: ",
	} {
		if s.Looked(place) == 0 {
			t.Errorf("never looked at %s", place)
		}
	}
}

// plantImage has the texts in its environment, command, labels, history, and a gzip layer.
func plantImage(t *testing.T, texts map[string]string) (ref string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	base := backendtest.NewImage(t, self, nil)
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	cfg := must(base.ConfigFile())(t).DeepCopy().Config
	for i, form := range slices.Sorted(maps.Keys(texts)) {
		text := texts[form]
		cfg.Env = append(cfg.Env, fmt.Sprintf("PLANT_%d=%s", i, text))
		cfg.Cmd = append(cfg.Cmd, text)
		cfg.Labels[fmt.Sprintf("plant.%d", i)] = text
		addFile(t, w, fmt.Sprintf("planted/%d", i), []byte(text))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		t.Fatal(err)
	}
	img := must(mutate.Append(base.Image, mutate.Addendum{Layer: layer, History: v1.History{CreatedBy: "plant"}}))(t)
	img = must(mutate.Config(img, cfg))(t)
	ref = "localhost/berth-leak-test:" + strings.ToLower(rand.Text())
	engine := testrig.Podman(t)
	if _, err := engine.ImportImage(t.Context(), ref, backendtest.Image{Image: img}.Layout(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.RemoveImage(context.Background(), ref); err != nil {
			t.Error(err)
		}
	})
	return ref
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// plantContainer runs one with the texts in its environment, arguments, labels, log and tmpfs.
func plantContainer(t *testing.T, ref string, forms []string, texts map[string]string) (id, process string) {
	t.Helper()
	args := []string{
		"run", "--detach", "--network=none", "--tmpfs=/tmp:rw,mode=1777", "--user=1000:1000",
		"--env=" + envPlant + "=1", "--entrypoint=" + backendtest.ProbePath, "--log-driver=k8s-file",
	}
	for i, form := range forms {
		args = append(args, fmt.Sprintf("--env=PLANT_%d=%s", i, texts[form]), fmt.Sprintf("--label=plant.%d=%s", i, texts[form]))
	}
	args = append(args, ref)
	for _, form := range forms {
		args = append(args, texts[form])
	}
	id = podman(t, args...)
	t.Cleanup(func() { podman(t, "rm", "--force", "--time=0", id) })
	for !strings.Contains(podman(t, "logs", id), "ready") {
		if podman(t, "inspect", "--format={{.State.Running}}", id) != "true" {
			t.Fatalf("the container ended: %s", podman(t, "logs", id))
		}
	}
	return id, fmt.Sprintf("process %s %.15s", podman(t, "inspect", "--format={{.State.Pid}}", id), filepath.Base(backendtest.ProbePath))
}

// plantProcess runs one on the host with the texts in its arguments and environment.
func plantProcess(t *testing.T, forms []string, texts map[string]string) (process string) {
	t.Helper()
	cmd := exec.Command("cat", "-")
	for i, form := range forms {
		cmd.Env = append(cmd.Env, fmt.Sprintf("PLANT_%d=%s", i, texts[form]))
		cmd.Args = append(cmd.Args, texts[form])
	}
	in, err := cmd.StdinPipe() // closed by Wait, as out is
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	// Start returns while the kernel is still setting the program up: its environment shows when it runs.
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("process %d cat", cmd.Process.Pid)
}

func podman(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("podman", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("podman %s: %v: %s", args[0], err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

func tarred(t testing.TB, name string, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	addFile(t, w, name, body)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func addFile(t testing.TB, w *tar.Writer, name string, body []byte) {
	t.Helper()
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(body))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
}
