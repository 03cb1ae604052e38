package leak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path"
	"strings"
)

// Container looks through all that Podman tells of a running container (inspect, its log), all that
// it keeps on disk for it, the memory file systems in it, and every process of the user.
//
// Places: "container inspect", "container log", "engine: …", "shard: <path within>", "process …".
func (s *Scanner) Container(ctx context.Context, id string) error {
	inspect, err := podman(ctx, "container", "inspect", id)
	if err != nil {
		return err
	}
	s.bytes("container inspect", inspect)
	if err := s.podman(ctx, "container log", "logs", id); err != nil {
		return err
	}
	var c []struct{ State struct{ Pid int } }
	if err := json.Unmarshal(inspect, &c); err != nil || len(c) != 1 || c[0].State.Pid == 0 {
		return fmt.Errorf("container %s doesn't run (%w)", id, err)
	}
	folders, err := memory(ctx, fmt.Sprintf("/proc/%d", c[0].State.Pid))
	if err != nil {
		return err
	}
	return s.machine(ctx, folders)
}

// Engine looks through all that Podman keeps on disk, whether the containers live or not, and every
// process of the user. Places: "engine: …", "process …".
func (s *Scanner) Engine(ctx context.Context) error { return s.machine(ctx, map[string]string{}) }

func (s *Scanner) machine(ctx context.Context, folders map[string]string) error {
	if err := engineFolders(ctx, folders); err != nil {
		return err
	}
	return s.Machine(ctx, folders)
}

// Image looks through an image's config and history, and every file of every layer. Places: "image
// inspect", "image: <layer>: <path>".
func (s *Scanner) Image(ctx context.Context, ref string) error {
	if err := s.podman(ctx, "image inspect", "image", "inspect", ref); err != nil {
		return err
	}
	// Podman compresses layers in an OCI archive, which takes longer than all the rest.
	return s.podman(ctx, "image", "image", "save", "--quiet", "--format", "docker-archive", ref)
}

// memory is a container's file systems that aren't on disk, by PID 1's mounts: what the agent can
// write to.
func memory(ctx context.Context, proc string) (map[string]string, error) {
	mounts, err := podman(ctx, "unshare", "cat", proc+"/mountinfo")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{}
	for line := range strings.Lines(string(mounts)) {
		mount, fs, ok := strings.Cut(line, " - ")
		if f := strings.Fields(mount); ok && strings.HasPrefix(fs, "tmpfs ") && strings.HasPrefix(f[5], "rw") && f[4] != "/dev" {
			folders["shard: "+f[4]] = path.Join(proc, "root", f[4])
		}
	}
	return folders, nil
}

// engineFolders adds what Podman keeps of containers: configs, logs and its database. Layers are
// Image's matter.
func engineFolders(ctx context.Context, folders map[string]string) error {
	out, err := podman(ctx, "info", "--format", "{{.Store.GraphRoot}}\n{{.Store.RunRoot}}")
	if err != nil {
		return err
	}
	graph, run, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	folders["engine: containers"] = path.Join(graph, "overlay-containers")
	folders["engine: images"] = path.Join(graph, "overlay-images")
	folders["engine: database"] = path.Join(graph, "libpod")
	folders["engine: run"] = run
	return nil
}

func (s *Scanner) podman(ctx context.Context, place string, args ...string) error {
	return s.output(exec.CommandContext(ctx, "podman", args...), func(out io.Reader) error { return s.Stream(place, out) })
}

// output runs cmd, and read over its stdout to the end.
func (s *Scanner) output(cmd *exec.Cmd, read func(io.Reader) error) error {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := read(out)
	if _, err := io.Copy(io.Discard, out); err != nil && readErr == nil {
		readErr = err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, stderr.Bytes())
	}
	return readErr
}

func podman(ctx context.Context, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "podman", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("podman %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}
