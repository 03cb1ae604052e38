package main

import (
	"fmt"
	"io"
	"strconv"
)

// print writes the tables, and a line for each figure or for its absence.
func (f *findings) print(w io.Writer) {
	f.printLives(w)
	fmt.Fprintln(w)
	f.printSteps(w)
	fmt.Fprintln(w)
	f.printCrowds(w)
	fmt.Fprintln(w)
	f.printMemory(w)
	for _, name := range beds {
		if why := f.missing[name]; why != "" {
			fmt.Fprintf(w, "\n%s isn't measured: %s\n", name, why)
		}
	}
	var all []verdict
	for _, v := range verdicts {
		value, ok := v.of(f)
		if ok {
			all = append(all, verdict{v.name, value})
			continue
		}
		fmt.Fprintf(w, "\nno RATIO %s: its peer isn't measured\n", v.name)
	}
	printRatios(w, all...)
}

func (f *findings) printLives(w io.Writer) {
	t := table{head: []string{"ms", "create to ready", "engine's exec", "command", "remove"}}
	for _, name := range beds {
		l := f.lives[name]
		if l == nil {
			continue
		}
		command := "the exec"
		if l[metricCommand] != nil {
			command = l[metricCommand].spread()
		}
		t.add(name, l[metricStart].spread(), l[metricExec].spread(), command, l[metricRemove].spread())
	}
	t.print(w)
}

// printSteps says what a shard's way to ready is made of.
func (f *findings) printSteps(w io.Writer) {
	t := table{head: []string{"ms", "create", "start", "channel"}}
	for _, name := range beds {
		if l := f.lives[name]; l[stepCreate] != nil {
			t.add(name, l[stepCreate].spread(), l[stepStart].spread(), l[stepChannel].spread())
		}
	}
	t.print(w)
}

func (f *findings) printCrowds(w io.Writer) {
	t := table{head: []string{"ms until all are ready", "containers", "at a time", ""}}
	for _, c := range crowds {
		s := f.crowds[c]
		if s == nil {
			continue
		}
		at := strconv.Itoa(c.parallel)
		if c.bed == bedPodman || c.bed == bedContainerd || c.bed == bedRootless {
			at = "by itself"
		}
		t.add(c.bed, strconv.Itoa(c.n), at, s.spread())
	}
	t.print(w)
}

func (f *findings) printMemory(w io.Writer) {
	t := table{head: []string{"`berth run` with shards", "shards at once", "its own memory at most, MiB (RSS)"}}
	for _, name := range beds {
		if m := f.memory[name]; m != nil {
			t.add(name, fmt.Sprintf("%.0f", m[metricShards].median()), number(m[metricMemory].median()))
		}
	}
	t.print(w)
}

// verdicts are the figures; each tells whether it can be had.
var verdicts = []struct {
	name string
	of   func(*findings) (float64, bool)
}{
	{"podman-start/podman-cli", against(bedPodman, metricStart, bedPodmanCLI, metricStart)},
	{"podman-start/docker-cli", against(bedPodman, metricStart, bedDocker, metricStart)},
	{"containerd-start/ctr-cli", against(bedContainerd, metricStart, bedCtr, metricStart)},
	{"containerd-start/docker-cli", against(bedContainerd, metricStart, bedDocker, metricStart)},
	{"channel/podman-exec", against(bedPodman, metricCommand, bedPodmanCLI, metricExec)},
	{"channel/docker-exec", against(bedPodman, metricCommand, bedDocker, metricExec)},
	{"podman-16/best", againstBest(bedPodman, bedPodmanCLI)},
	{"containerd-16/best", againstBest(bedContainerd, bedCtr)},
}

func against(bed, metric, peer, peerMetric string) func(*findings) (float64, bool) {
	return func(f *findings) (float64, bool) {
		b, p := f.lives[bed][metric], f.lives[peer][peerMetric]
		if b == nil || p == nil {
			return 0, false
		}
		return ratio(b, p), true
	}
}

// againstBest takes the peer at the number at a time that suits it best.
func againstBest(bed, peer string) func(*findings) (float64, bool) {
	return func(f *findings) (float64, bool) {
		var own, best sample
		for _, c := range crowds {
			s := f.crowds[c]
			switch {
			case c.n != 16 || s == nil:
			case c.bed == bed:
				own = s
			case c.bed == peer && (best == nil || s.median() < best.median()):
				best = s
			}
		}
		if own == nil || best == nil {
			return 0, false
		}
		return ratio(own, best), true
	}
}
