package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDiskFull fills the disk of the results in the middle of a trial. What had finished stays whole.
func TestDiskFull(t *testing.T) {
	p := newProject(t, sayCases("first", "second", "third"))
	if err := os.Mkdir(p.path("out"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "CONTAINER_HOST=unix://"+p.podmanService())
	p.inNamespaces("mount -t tmpfs -o size=512k tmpfs " + p.path("out"))
	g := p.newGate(echo)
	h := g.hold("say second")
	c := p.start()
	c.awaitTrial("first")
	h.await(t)
	// The folder is on a disk that only the run's own namespace sees, for as long as it's open here.
	out, err := os.OpenRoot(fmt.Sprintf("/proc/%d/root%s", c.cmd.Process.Pid, p.path("out")))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	fill(t, out)
	close(h.release)
	r := c.wait()
	r.expect(t, 4, "results_not_saved: the disk is full", "--resume")
	traces, err := fs.Glob(out.FS(), "runs/*/traces/default/*/0.json")
	if err != nil || len(traces) != 1 || !strings.Contains(traces[0], "/first/") {
		t.Fatalf("traces: %v, %v", traces, err)
	}
	body, err := out.ReadFile(traces[0])
	if err != nil || !strings.Contains(string(body), `"finalText": "say first"`) {
		t.Errorf("%v in %s", err, body)
	}
	p.noTrace()
}

// fill writes until nothing more fits.
func fill(t *testing.T, dir *os.Root) {
	t.Helper()
	f, err := dir.Create("filler")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{4096, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// podmanService serves Podman's API outside of any namespace of ours, and gives its socket.
func (p *project) podmanService() string {
	p.t.Helper()
	socket := p.path("podman.sock")
	cmd := exec.Command("podman", "--log-level", "info", "system", "service", "--time=0", "unix://"+socket)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go io.Copy(io.Discard, bufio.NewReader(stderr))
	p.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	if !eventually(func() bool { return served(filepath.Dir(socket)) }) {
		p.t.Fatal("podman system service doesn't listen")
	}
	return socket
}
