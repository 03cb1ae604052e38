package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/backends/podman"
	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/oci"
)

// Half the engines are a user's and half are root's, and nobody is both: a process for each, of which the
// second does what the first asks for, one task a line. Clocks run where the work is done.

// task is what a half is asked for; answer is what came of it, Error in the place of an error.
type task struct {
	Do          string
	Bed         string `json:",omitempty"`
	N, Parallel int    `json:",omitempty"`
	Dir         string `json:",omitempty"`
}

type answer struct {
	Times times `json:",omitempty"`
	// Beds are those that can be had, each with its engine; Missing are the others, each with the reason.
	Beds, Missing map[string]string `json:",omitempty"`
	Dir           string            `json:",omitempty"`
	Error         string            `json:",omitempty"`
}

// What a half does.
const (
	doOpen   = "open"   // start the engines; root's take the image from Dir, the user's put it into one
	doLife   = "life"   // one container through its life
	doCrowd  = "crowd"  // N containers, Parallel at a time
	doMemory = "memory" // a run of berth's with N shards
	doClose  = "close"
)

// Beds, by what they are called in tables.
const (
	bedPodman      = "berth, Podman rootless"
	bedPodmanCLI   = "`podman run`"
	bedContainerd  = "berth, containerd"
	bedCtr         = "`ctr run`"
	bedRootless    = "berth, containerd rootless"
	bedCtrRootless = "`ctr run`, rootless"
	bedDocker      = "`docker run`"
	needsRoot      = "needs root: run `make bench-backend` as root"
	halfVerb       = "half"
)

// half has the engines of one user.
type half struct {
	root    bool
	beds    map[string]bed
	engines map[string]string
	missing map[string]string
	closers []func() error
}

func newHalf() *half {
	return &half{root: os.Geteuid() == 0, beds: map[string]bed{}, engines: map[string]string{}, missing: map[string]string{}}
}

func (h *half) do(ctx context.Context, t task) (answer, error) {
	switch t.Do {
	case doOpen:
		dir, err := h.open(ctx, t.Dir)
		return answer{Beds: h.engines, Missing: h.missing, Dir: dir}, err
	case doClose:
		return answer{}, h.close()
	}
	b := h.beds[t.Bed]
	if b == nil {
		return answer{}, fmt.Errorf("no bed %q", t.Bed)
	}
	var got times
	var err error
	switch t.Do {
	case doLife:
		got, err = life(ctx, b)
	case doCrowd:
		got, err = crowd(ctx, b, t.N, t.Parallel)
	case doMemory:
		got, err = runMemory(ctx, b.(shardBed).rig, t.N)
	default:
		err = fmt.Errorf("no task %q", t.Do)
	}
	return answer{Times: got}, err
}

// open starts what there is; what can't be is missing, with the reason. It fails when the image can't be
// had, without which there is nothing to measure.
func (h *half) open(ctx context.Context, dir string) (string, error) {
	if h.root {
		h.may(bedContainerd, h.openContainerd(ctx, dir), bedCtr)
		h.may(bedDocker, h.openDocker(ctx, dir))
		return dir, nil
	}
	dir, err := h.openPodman(ctx)
	if err != nil {
		return "", err
	}
	h.may(bedRootless, h.openRootless(ctx, dir), bedCtrRootless)
	return dir, nil
}

func (h *half) may(name string, err error, also ...string) {
	if err == nil {
		return
	}
	for _, n := range append(also, name) {
		delete(h.beds, n)
		h.missing[n] = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
}

func (h *half) closes(f func() error) { h.closers = append(h.closers, f) }

func (h *half) close() error {
	var err error
	for i := len(h.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, h.closers[i]())
	}
	h.closers = nil
	return err
}

// add makes a bed of berth's and its peer's.
func (h *half) add(name string, r *rig, peer string, c *cliBed) {
	engine := strings.TrimSpace(r.info.Name + " " + r.info.Version + ", " + r.info.Runtime)
	h.beds[name], h.engines[name] = shardBed{r}, engine
	h.beds[peer], h.engines[peer] = c, engine
}

// Files of the folder that one half hands to the other.
const (
	imageOCI    = "oci.tar"
	imageDocker = "docker.tar"
)

// openPodman also writes the image for the other engines.
func (h *half) openPodman(ctx context.Context) (string, error) {
	r, err := openRig(ctx)
	if err != nil {
		return "", err
	}
	h.closes(r.close)
	s, err := oci.ShardSpec{}.Spec()
	if err != nil {
		return "", err
	}
	h.add(bedPodman, r, bedPodmanCLI, podmanBed(r, s))
	dir, err := os.MkdirTemp("", "berth-bench-image-")
	if err != nil {
		return "", err
	}
	h.closes(func() error { return os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	return dir, r.writeImage(ctx, dir)
}

func (r *rig) writeImage(ctx context.Context, dir string) error {
	f, err := os.Create(filepath.Join(dir, imageOCI))
	if err != nil {
		return err
	}
	err = errors.Join(r.engine.(*podman.Backend).ExportImage(ctx, r.image.Ref, f), f.Close())
	if err != nil {
		return err
	}
	if _, err := writeSeccomp(dir); err != nil {
		return err
	}
	return cli(ctx, "save", "--quiet", "--format=docker-archive", "--output="+filepath.Join(dir, imageDocker), r.image.Ref)
}

// onContainerd is a rig on one, with the image from dir.
func (h *half) onContainerd(ctx context.Context, o containerd.Options, dir string) (*rig, error) {
	b, err := containerd.New(ctx, o)
	if err != nil {
		return nil, err
	}
	r := &rig{engine: b}
	h.closes(r.close)
	if err := loadImage(ctx, b, eval.ImageName("codex"), filepath.Join(dir, imageOCI)); err != nil {
		return nil, err
	}
	return r, r.learn(ctx)
}

func (h *half) openContainerd(ctx context.Context, dir string) error {
	d, socket, err := startContainerd(ctx)
	if err != nil {
		return err
	}
	h.closes(d.stop)
	r, err := h.onContainerd(ctx, containerd.Options{Address: socket}, dir)
	if err != nil {
		return err
	}
	s, err := oci.ShardSpec{}.Spec()
	if err != nil {
		return err
	}
	r.environment = []string{"CONTAINERD_ADDRESS=" + socket}
	mapping := &[2]string{peerIDs, peerIDs}
	image, err := ctrImage(ctx, r.engine.(*containerd.Backend), r.image.Ref)
	if err != nil {
		return err
	}
	c := ctrBed(r, s, nil, socket, image, filepath.Join(dir, "seccomp.json"), mapping)
	h.add(bedContainerd, r, bedCtr, c)
	return holdRemapped(ctx, r.engine.(*containerd.Backend), c)
}

// peerIDs are what ctr maps a container's ids to, as berth does, to other ones.
const peerIDs = "0:1878982656:65536"

func (h *half) openRootless(ctx context.Context, dir string) error {
	d, pid, err := startRootless(ctx)
	if err != nil {
		return err
	}
	h.closes(d.stop)
	r, err := h.onContainerd(ctx, containerd.Options{}, dir)
	if err != nil {
		return err
	}
	s, err := oci.ShardSpec{}.Spec()
	if err != nil {
		return err
	}
	image, err := ctrImage(ctx, r.engine.(*containerd.Backend), r.image.Ref)
	if err != nil {
		return err
	}
	enter := []string{"nsenter", "--target=" + pid(), "--user", "--mount", "--preserve-credentials", "--no-fork"}
	h.add(bedRootless, r, bedCtrRootless, ctrBed(r, s, enter, rootlessSocket, image, filepath.Join(dir, "seccomp.json"), nil))
	return nil
}

func (h *half) openDocker(ctx context.Context, dir string) error {
	d, docker, err := startDocker(ctx)
	if err != nil {
		return err
	}
	h.closes(d.stop)
	r := &rig{image: backends.Image{Ref: eval.ImageName("codex")}}
	s, err := oci.ShardSpec{}.Spec()
	if err != nil {
		return err
	}
	b := dockerBed(r, s, docker, r.image.Ref, filepath.Join(dir, "seccomp.json"))
	if err := b.do(ctx, []string{"load", "--quiet", "--input=" + filepath.Join(dir, imageDocker)}); err != nil {
		return err
	}
	version, err := exec.CommandContext(ctx, docker[0], docker[1], "version", "--format={{.Server.Version}}").Output()
	h.beds[bedDocker], h.engines[bedDocker] = b, "docker "+strings.TrimSpace(string(version))
	return err
}

// runHalf answers tasks until there are no more.
func runHalf(ctx context.Context, in io.Reader, out io.Writer) error {
	h := newHalf()
	d, e := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var t task
		if err := d.Decode(&t); err != nil {
			return errors.Join(ignoreEOF(err), h.close())
		}
		a, err := h.do(ctx, t)
		if err != nil {
			a.Error = err.Error()
		}
		if err := e.Encode(a); err != nil {
			return errors.Join(err, h.close())
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// doer is a half, here or in another process.
type doer interface {
	do(context.Context, task) (answer, error)
}

// elsewhere is a half in a process of its own.
type elsewhere struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	e   *json.Encoder
	d   *json.Decoder
}

// startHalf runs the user's half: as the one of scripts/rootless.
func startHalf(ctx context.Context) (*elsewhere, error) {
	cmd := exec.CommandContext(ctx, "scripts/run-bench", halfVerb)
	cmd.Cancel = func() error { return nil } // its stdin ends, and it cleans up
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &elsewhere{cmd: cmd, in: in, e: json.NewEncoder(in), d: json.NewDecoder(out)}, nil
}

func (h *elsewhere) do(_ context.Context, t task) (answer, error) {
	if err := h.e.Encode(t); err != nil {
		return answer{}, err
	}
	var a answer
	err := h.d.Decode(&a)
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	return a, err
}

func (h *elsewhere) end() error { return errors.Join(h.in.Close(), h.cmd.Wait()) }
