package main

import (
	"os"
	"strings"
	"testing"
)

func TestGrown(t *testing.T) {
	steady := held{
		descriptors: 9, goroutines: 18, memory: 32 << 10, engineDescriptors: 50, engineMemory: 48 << 10, mounts: 15, disk: 870 << 10,
	}
	const shards = 500
	for name, tt := range map[string]struct {
		change func(*held)
		want   string // "" is steady
	}{
		"nothing":                      {func(*held) {}, ""},
		"what comes and goes":          {func(h *held) { h.descriptors += 4; h.memory += 4 << 10; h.mounts++; h.disk += 1 << 10 }, ""},
		"less":                         {func(h *held) { *h = held{} }, ""},
		"a descriptor each":            {func(h *held) { h.descriptors += shards * 4 / 5 }, "descriptors grew from 9 to 409"},
		"a goroutine each":             {func(h *held) { h.goroutines += shards * 4 / 5 }, "goroutines grew from 18 to 418"},
		"20 KiB each":                  {func(h *held) { h.memory += 20 * shards * 4 / 5 }, "KiB of memory grew"},
		"a descriptor of the engine's": {func(h *held) { h.engineDescriptors += shards * 4 / 5 }, "descriptors of the engine's grew from 50 to 450"},
		"100 KiB of the engine's each": {func(h *held) { h.engineMemory += 100 * shards * 4 / 5 }, "KiB of the engine's memory grew"},
		"a mount in a hundred":         {func(h *held) { h.mounts += 4 }, "mounts grew from 15 to 19"},
		"20 KiB on disk each":          {func(h *held) { h.disk += 20 * shards * 4 / 5 }, "KiB on disk grew"},
		"a monitor":                    {func(h *held) { h.monitors = 1 }, "1 monitors are left"},
	} {
		t.Run(name, func(t *testing.T) {
			last := steady
			tt.change(&last)
			err := grown([]held{steady, {}, last}, shards)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestLooksAtThisProcess(t *testing.T) {
	before, err := descriptors(os.Getpid())
	if err != nil {
		t.Skip(err) // no /proc here
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if now, err := descriptors(os.Getpid()); err != nil || now <= before {
		t.Errorf("%d descriptors, were %d, %v", now, before, err)
	}
	if n := resident(os.Getpid()); n < 1024 {
		t.Errorf("%d KiB of memory", n)
	}
	if !own(os.Getpid()) || descendsFrom(os.Getpid())(os.Getppid()) || !descendsFrom(os.Getppid())(os.Getpid()) {
		t.Error("this process isn't told from its parent")
	}
}
