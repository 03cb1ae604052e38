package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// benchBackend compares the engines through berth with their command lines and Docker's: one container's
// life, and several at once. Every bed has its turn in every round. An engine that can't be had here is
// named, with the reason, and its figures are missing.
func benchBackend(ctx context.Context, n rounds, w io.Writer) (err error) {
	halves, end, err := openHalves(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	f := newFindings()
	if err := f.open(ctx, halves); err != nil {
		return err
	}
	printHead(w, "backend", n, strings.Join(slices.Compact(slices.Sorted(maps.Values(f.engines))), "; "))
	for _, name := range []string{bedPodman, bedContainerd} {
		if err := f.measureMemory(ctx, name); err != nil {
			return err
		}
	}
	for round := range n.warmup + n.counted {
		if err := f.round(ctx, round, round >= n.warmup); err != nil {
			return err
		}
	}
	f.print(w)
	return nil
}

// openHalves gives the halves that can be had: the user's first.
func openHalves(ctx context.Context) (halves []doer, end func() error, err error) {
	if os.Geteuid() != 0 {
		h := newHalf()
		return []doer{h}, h.close, nil
	}
	user, err := startHalf(ctx)
	if err != nil {
		return nil, nil, err
	}
	h := newHalf()
	return []doer{user, h}, func() error { return errors.Join(h.close(), user.end()) }, nil
}

// many is a number of containers side by side, parallel of them brought up at a time: berth is asked for
// all at once, and bounds that by itself.
type many struct {
	bed         string
	n, parallel int
}

// crowds are what is measured beside single containers.
var crowds = []many{
	{bedPodman, 4, 4}, {bedPodmanCLI, 4, 4}, {bedContainerd, 4, 4}, {bedCtr, 4, 4}, {bedDocker, 4, 4},
	{bedPodman, 16, 16}, {bedPodmanCLI, 16, 4}, {bedPodmanCLI, 16, 8}, {bedPodmanCLI, 16, 16},
	{bedContainerd, 16, 16}, {bedCtr, 16, 4}, {bedCtr, 16, 8}, {bedCtr, 16, 16},
	{bedRootless, 16, 16}, {bedDocker, 16, 8},
}

// beds are all there may be, in the order of the table.
var beds = []string{bedPodman, bedPodmanCLI, bedContainerd, bedCtr, bedRootless, bedCtrRootless, bedDocker}

// findings are what was measured.
type findings struct {
	owner            map[string]doer
	engines, missing map[string]string
	lives            map[string]times
	crowds           map[many]sample
	memory           map[string]times
}

func newFindings() *findings {
	return &findings{
		owner: map[string]doer{}, engines: map[string]string{}, missing: map[string]string{},
		lives: map[string]times{}, crowds: map[many]sample{}, memory: map[string]times{},
	}
}

func (f *findings) open(ctx context.Context, halves []doer) error {
	dir := ""
	for _, h := range halves {
		a, err := h.do(ctx, task{Do: doOpen, Dir: dir})
		if err != nil {
			return err
		}
		dir = a.Dir
		maps.Copy(f.engines, a.Beds)
		maps.Copy(f.missing, a.Missing)
		for name := range a.Beds {
			if f.missing[name] == "" {
				f.owner[name] = h
			}
		}
	}
	for _, name := range beds {
		if f.owner[name] == nil && f.missing[name] == "" {
			f.missing[name] = needsRoot
		}
	}
	return nil
}

// round gives every bed a turn, the first of one round being the last of the next.
func (f *findings) round(ctx context.Context, round int, counts bool) error {
	var turns []func() error
	for _, name := range beds {
		turns = append(turns, func() error { return f.life(ctx, name, counts) })
	}
	for _, c := range crowds {
		turns = append(turns, func() error { return f.crowd(ctx, c, counts) })
	}
	for i := range turns {
		if err := turns[(i+round)%len(turns)](); err != nil {
			return err
		}
	}
	return nil
}

func (f *findings) ask(ctx context.Context, t task) (times, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	a, err := f.owner[t.Bed].do(ctx, t)
	if err != nil {
		err = fmt.Errorf("%s, %s: %w", t.Bed, t.Do, err)
	}
	return a.Times, err
}

func (f *findings) life(ctx context.Context, name string, counts bool) error {
	if f.owner[name] == nil {
		return nil
	}
	got, err := f.ask(ctx, task{Do: doLife, Bed: name})
	if err != nil || !counts {
		return err
	}
	if f.lives[name] == nil {
		f.lives[name] = times{}
	}
	for metric, s := range got {
		f.lives[name][metric] = append(f.lives[name][metric], s...)
	}
	return nil
}

func (f *findings) crowd(ctx context.Context, c many, counts bool) error {
	if f.owner[c.bed] == nil {
		return nil
	}
	got, err := f.ask(ctx, task{Do: doCrowd, Bed: c.bed, N: c.n, Parallel: c.parallel})
	if err == nil && counts {
		f.crowds[c] = append(f.crowds[c], got[metricStart]...)
	}
	return err
}

func (f *findings) measureMemory(ctx context.Context, name string) (err error) {
	if f.owner[name] != nil {
		f.memory[name], err = f.ask(ctx, task{Do: doMemory, Bed: name, N: 16})
	}
	return err
}
