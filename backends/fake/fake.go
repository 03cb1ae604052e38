// Package fake is a backend without an engine: images are names, programs are Go functions, shards are
// goroutines. It keeps what package backends promises, states, stdio, status, cancel and labels, so
// that everything above the seam is tested without a container. It isolates nothing and limits
// nothing, and says so in its capabilities.
package fake

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/berth-run/berth/backends"
)

// Program stands for an executable: it gets what a process has and gives its exit status. It must
// return soon after ctx ends, which is its SIGKILL (the status is 137 then, whatever it returns), or
// after a read or write of its stdio fails.
type Program func(ctx context.Context, p ProcessIO) int

// ProcessIO is what a process has.
type ProcessIO struct {
	// ShardID is the shard it runs in: programs of one shard may share state by it.
	ShardID string
	Args    []string
	Env     []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
}

// Options of a backend. The zero value is one that can do nothing special and fails never.
type Options struct {
	// Capabilities, Controllers and Warnings are what Info tells; nothing is behind them.
	Capabilities backends.Capabilities
	Controllers  []string
	Warnings     []string
	// Memory is what Memory tells; nil is a machine with more than any test asks for.
	Memory func() (backends.Memory, error)
	// OnCreate and OnStart, if set, may fail a call before it has done anything.
	OnCreate func(backends.Config) error
	OnStart  func(id string) error
	// Output, if set, gets what the PID 1 of each shard writes.
	Output io.Writer
}

// Backend implements backends.Backend.
type Backend struct {
	options Options

	mu       sync.Mutex
	images   map[string]backends.Image
	programs map[string]Program
	shards   map[string]*shard
}

var _ backends.Backend = (*Backend)(nil)

// New makes an engine with no images and no programs.
func New(o Options) *Backend {
	return &Backend{
		options:  o,
		images:   map[string]backends.Image{},
		programs: map[string]Program{},
		shards:   map[string]*shard{},
	}
}

// Register makes argv[0] a program of every image. A nil Program is a file that isn't executable
// (status 126); what was never registered isn't there (127).
func (b *Backend) Register(argv0 string, p Program) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.programs[argv0] = p
}

// AddImage adds an image without a layout. Its digest is made from ref.
func (b *Backend) AddImage(ref string, labels map[string]string) backends.Image {
	img := backends.Image{Ref: ref, Digest: digestOf([]byte(ref)), Labels: labels}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.images[ref] = img
	return img
}

// Kill ends a shard's PID 1 from outside, as the kernel or a person may. The shard remains.
func (b *Backend) Kill(id string) error {
	s, err := b.shard(id)
	if err != nil {
		return err
	}
	s.kill()
	return nil
}

// Info implements backends.Backend.
func (b *Backend) Info(context.Context) (backends.Info, error) {
	return backends.Info{
		Name: "fake", Version: "1", Runtime: "goroutines", Rootless: true,
		OS: "linux", Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		Controllers: b.options.Controllers, Capabilities: b.options.Capabilities, Warnings: b.options.Warnings,
	}, nil
}

// Memory implements backends.Backend.
func (b *Backend) Memory(context.Context) (backends.Memory, error) {
	if b.options.Memory == nil {
		return backends.Memory{Total: 1 << 50, Free: 1 << 50}, nil
	}
	return b.options.Memory()
}

// Create implements backends.Backend.
func (b *Backend) Create(ctx context.Context, c backends.Config) (backends.Shard, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if f := b.options.OnCreate; f != nil {
		if err := f(c); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	img, ok := b.images[c.Image]
	if !ok {
		return nil, fmt.Errorf("image %s: %w", c.Image, backends.ErrNotFound)
	}
	for _, s := range b.shards {
		if s.config.Name == c.Name {
			return nil, fmt.Errorf("shard %s: %w", c.Name, backends.ErrExists)
		}
	}
	s := newShard(b, strings.ToLower(rand.Text()), c, img.Digest)
	b.shards[s.id] = s
	return s, nil
}

// Open implements backends.Backend.
func (b *Backend) Open(_ context.Context, id string) (backends.Shard, error) { return b.shard(id) }

func (b *Backend) shard(id string) (*shard, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.shards[id]
	if !ok {
		return nil, fmt.Errorf("shard %s: %w", id, backends.ErrNotFound)
	}
	return s, nil
}

// List implements backends.Backend.
func (b *Backend) List(_ context.Context, labels map[string]string) ([]backends.Listed, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []backends.Listed
	for _, s := range b.shards {
		if l := s.listed(); l.Carries(labels) {
			list = append(list, l)
		}
	}
	return list, nil
}

// Close implements backends.Backend. Shards live on.
func (b *Backend) Close() error { return nil }

// program looks argv[0] up, as a shell would say it: 126 or 127 with a nil one.
func (b *Backend) program(argv0 string) (Program, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.programs[argv0]
	switch {
	case !ok:
		return nil, 127
	case p == nil:
		return nil, 126
	}
	return p, 0
}
