//go:build !linux

package network

import "context"

// RunHelper does nothing: there is no helper but on Linux.
func RunHelper() {}

type request struct {
	Attach bool
	ID     string
	PID    int
}

func (e Engine) help(context.Context, request) error { return errNoHelper }

// Lacks says why shards of the engine can't have its network.
func (e Engine) Lacks() string { return "containerd's shards have one on Linux only" }

// Resolv gives a shard's /etc/resolv.conf.
func (e Engine) Resolv() ([]byte, error) { return nil, e.Check() }
