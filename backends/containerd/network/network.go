// Package network joins a shard of containerd to its engine's network, through CNI plugins: a pair of
// interfaces for each shard, addresses of one range, and what leaves is masqueraded. There is one
// network, "berth", for all engines of a network namespace. Its configuration, its addresses and a mount for
// each shard that has it are in one folder of /run, and the last shard takes them all away.
//
// Plugins work where the engine is: in its mount and network namespaces, and in its user namespace if it
// is a rootless one's, which its owner may enter without any privilege. A process of Go's can't enter one,
// so this program runs itself there, by nsenter(1): main has to call RunHelper first of all. It's run that
// way even if there is nothing to enter, since plugins get their caller's environment, and a berth's has
// secrets.
//
// What lives is what counts: a shard holds its place by a process, whose end anybody may see. So a berth
// that was killed leaves nothing that the next one to come by doesn't take away.
package network

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-run/berth/backends"
)

// Engine is where a containerd runs.
type Engine struct {
	// PID is one of its processes, as it's seen from here; 0 for one that isn't.
	PID int
	// Rootless: it's in a user namespace of this user's.
	Rootless bool
}

// Attach gives the network to the namespace that process pid has made and not yet used, before that runs
// anything. ID is any name that nobody else has.
func (e Engine) Attach(ctx context.Context, id string, pid int) error {
	if err := e.Check(); err != nil {
		return err
	}
	return e.run(ctx, request{Attach: true, ID: id, PID: pid})
}

// Detach takes it back, after the end of the shard's processes or before, as often as it's called.
func (e Engine) Detach(ctx context.Context, id string) error {
	if e.PID == 0 {
		return e.Check()
	}
	return e.run(ctx, request{ID: id})
}

// run has a request done where the engine is.
func (e Engine) run(ctx context.Context, r request) error {
	if err := e.help(ctx, r); err != nil {
		return fmt.Errorf("the engine's network: %w", err)
	}
	return nil
}

// pluginsAdvice is for who has no plugins, or a part of them.
const pluginsAdvice = "install them (Debian: `apt install containernetworking-plugins`)"

// Check tells, as backends.ErrUnsupported, what Lacks says.
func (e Engine) Check() error {
	if lacks := e.Lacks(); lacks != "" {
		return unsupported(lacks)
	}
	return nil
}

func unsupported(why string) error {
	return fmt.Errorf("%w: network=engine: %s", backends.ErrUnsupported, why)
}

var errNoHelper = errors.New("this program can't enter the engine's namespaces: its main doesn't call network.RunHelper")
