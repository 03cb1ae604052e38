package rig

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Fill writes until nothing more fits.
func Fill(t *testing.T, dir *os.Root) {
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

// PodmanService serves Podman's API outside of any namespace of ours, and gives its socket.
func (p *Project) PodmanService() string {
	p.T.Helper()
	socket := p.Path("podman.sock")
	cmd := exec.Command("podman", "--log-level", "info", "system", "service", "--time=0", "unix://"+socket)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		p.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.T.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	p.T.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	if !Eventually(func() bool { return served(filepath.Dir(socket)) }) {
		p.T.Fatal("podman system service doesn't listen")
	}
	return socket
}
