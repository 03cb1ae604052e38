// Package backends is the seam between a run and a container engine: the Backend interface, the
// values that cross it, and the errors it may return. It knows nothing of evals; an implementation
// knows nothing of desktops.
//
// # A shard's life
//
// A shard is one disposable container. Create makes it from an image that the engine already has
// and an OCI runtime spec (package oci decides what is in it; a backend only carries it, translating
// where the engine has a format of its own, and never adds a right or drops a protection). Create
// starts nothing; a failed Create leaves nothing behind. The labels given to Create are on the
// container before it can run, so that a sweep finds it whatever happens to its maker. What of a
// spec the engine has no way to express is ErrInvalid, never left out; limits alone may go, where the
// engine lacks the cgroup controller (Info.Controllers says so, and the shard's self-check finds it).
//
// Start runs the spec's process as PID 1. A second Start is ErrState. A start that failed leaves a
// created shard that Remove takes away; it never reads as exit status 0.
//
// Exec runs one more process in a started shard and returns when that process has ended and its
// output has been delivered: an Exec that returned has no writes in flight. Stdin is delivered to
// its last byte and then closed in the shard, 0 bytes included; an Exec doesn't wait for a Stdin
// reader that outlives its process. Stdout and stderr stay apart. A Stdin that fails, or an output
// that can't be written, kills the process as a cancel does, and is the error. The exit status is the process's
// own (128+n for a signal; 126 not executable, 127 not found). When ctx is cancelled the process
// and its descendants are killed in the shard, and Exec returns ctx's cause. Execs of one shard run
// side by side, and say nothing about the state of PID 1. Exec before Start, or after PID 1 ended,
// is ErrState.
//
// CopyIn and CopyOut move files into a started shard and out of it as tar streams, faster than an Exec
// can; not every engine has them (Capabilities.Copy; ErrUnsupported where it is false). They are for
// bulk: streams that berth itself made, and streams whose reader trusts nothing. CopyIn unpacks below a
// folder that is there, as the shard's user, and isn't all or nothing; CopyOut packs one path. A path is
// resolved in the shard, links and all, with the engine's rights: what a process in there can rename is
// no boundary. ErrNotFound for a path that isn't there, ErrState as for Exec. When ctx is cancelled they
// return ctx's cause. A CopyIn that returned reads nothing more. A CopyOut that returned nil may still
// have been cut short inside the engine, between two entries: some can't say. So count what came.
//
// Wait returns PID 1's exit status, once it has ended, as often as it is called; a shard that was
// removed meanwhile is ErrNotFound. OOMKilled comes from the engine's reading of the cgroup, not
// from a status of 137.
//
// Remove ends whatever runs, by force, and takes away the container with everything the backend
// made for it. It may come in any state and more than once: removing what is gone is no error. When
// it returns nil nothing is left on the engine. It honours ctx, so a caller that cleans up after a
// cancelled run gives it a fresh one.
//
// List tells what carries a set of labels, whoever made it, in any state; Open gets the Shard of one
// of them. Methods are safe for concurrent use. A backend bounds how many shards it creates, starts
// and removes at once by itself (engines get slower beyond a few); a caller need not.
//
// Errors are the closed set of errors.go, wrapped with what the engine said; match with errors.Is.
package backends

import (
	"context"
	"io"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Backend is one container engine.
type Backend interface {
	// Info asks the engine about itself. ErrUnavailable and ErrUnsupported name the cause and the way on.
	Info(ctx context.Context) (Info, error)
	// Memory tells what memory the machine that shards run on has at this moment.
	Memory(ctx context.Context) (Memory, error)

	// Image tells about an image the engine has; ErrNotFound otherwise. Nothing is ever pulled.
	Image(ctx context.Context, ref string) (Image, error)
	// ImportImage reads an OCI image layout as a tar stream, with one image in its index, and names
	// it ref, taking the name from the image that had it (which goes, if that was its last name and no
	// shard uses it). All or nothing; ErrInvalid for what isn't such a layout.
	ImportImage(ctx context.Context, ref string, layout io.Reader) (Image, error)
	// RemoveImage takes a name away, and the image with its last name; ErrNotFound when it isn't
	// there, ErrState while a shard uses it.
	RemoveImage(ctx context.Context, ref string) error

	// Create makes a shard; see above.
	Create(ctx context.Context, c Config) (Shard, error)
	// Open gets a shard by id; ErrNotFound.
	Open(ctx context.Context, id string) (Shard, error)
	// List tells the shards that carry all of labels; a value of "" matches any, no labels every
	// container on the engine.
	List(ctx context.Context, labels map[string]string) ([]Listed, error)

	// Close ends what the backend started for itself (an API service, connections). Shards live on.
	Close() error
}

// Shard is one container, in any state.
type Shard interface {
	ID() string
	Start(ctx context.Context) error
	Exec(ctx context.Context, p Process) (ExitStatus, error)
	// CopyIn unpacks tar below dir, an absolute path. A tar that is an io.WriterTo may be taken by that.
	CopyIn(ctx context.Context, dir string, tar io.Reader) error
	// CopyOut packs a file, or a folder as an entry with its base name; a path that ends in "/." is what
	// is in the folder.
	CopyOut(ctx context.Context, path string, tar io.Writer) error
	Wait(ctx context.Context) (ExitStatus, error)
	Remove(ctx context.Context) error
}

// Config is what Create needs.
type Config struct {
	// Name is unique on the engine; [a-zA-Z0-9][a-zA-Z0-9_.-]*.
	Name string
	// Image is a reference the engine has.
	Image string
	// Spec is complete but for the root file system, which comes from Image.
	Spec *specs.Spec
	// Network: "none" (only a loopback) or "engine" (the engine's own default network).
	Network string
	// Labels: a key is printable ASCII without space and '=', a value any UTF-8 without NUL; together
	// up to 4096 bytes.
	Labels map[string]string
}

// Networks of a Config.
const (
	NetworkNone   = "none"
	NetworkEngine = "engine"
)

// Process is one exec. Nil streams are empty or discarded.
type Process struct {
	Args []string
	// Env is added to the container's, as NAME=value.
	Env    []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// ExitStatus is how a process ended.
type ExitStatus struct {
	Code      int
	OOMKilled bool
}

// Info is what an engine says of itself.
type Info struct {
	// Name is the backend's ("podman", "containerd", "fake"), Version the engine's.
	Name    string
	Version string
	// Runtime is the OCI runtime, for the record ("crun 1.8.1").
	Runtime  string
	Rootless bool
	// Remote: the engine is on another machine (ssh, a Podman machine).
	Remote bool
	// OS and Arch of the machine that shards run on, as in GOOS and GOARCH, and its CPUs; 0 where that
	// can't be told.
	OS   string
	Arch string
	CPUs int
	// Controllers are the cgroup controllers the engine can use for a shard; limits that need others
	// won't be in force.
	Controllers  []string
	Capabilities Capabilities
	// NoNetwork says why Capabilities.NetworkEngine is false, in a line with the way on.
	NoNetwork string
	// Warnings tell what works on this engine, but badly: a line each, with the cause and the fix.
	Warnings []string
}

// Memory is a machine's, in bytes. Where shards share a limit with others, as within a container that the
// engine is in, it's what that limit leaves.
type Memory struct {
	Total int64
	// Free is what shards could take. Least: it's what nobody uses at all, without what the kernel would
	// give back of its caches, which an engine on another machine doesn't tell.
	Free  int64
	Least bool
}

// Capabilities is what differs between engines, as data; tests skip a case by the field's name.
type Capabilities struct {
	// MemoryLimit, PidsLimit, CPUWeight: a shard's limits are really applied.
	MemoryLimit bool
	PidsLimit   bool
	CPUWeight   bool
	// Isolation: processes run in namespaces of their own (not in the fake).
	Isolation bool
	// NetworkEngine: Config.Network "engine" can be had.
	NetworkEngine bool
	// Copy: CopyIn and CopyOut can be had.
	Copy bool
}

// Image is an image the engine has.
type Image struct {
	Ref string
	// Digest is the image config's digest, "sha256:…": the same for the same content on every engine.
	Digest string
	Labels map[string]string
}

// Listed is one shard as List sees it.
type Listed struct {
	ID      string
	Name    string
	State   string // one of the State constants
	Created time.Time
	Labels  map[string]string
}

// Carries tells whether the shard has all of labels; a value of "" matches any.
func (l Listed) Carries(labels map[string]string) bool {
	for k, v := range labels {
		if got, ok := l.Labels[k]; !ok || v != "" && got != v {
			return false
		}
	}
	return true
}

// States of a shard, as List gives them.
const (
	StateCreated = "created"
	StateRunning = "running"
	StateExited  = "exited"
)
