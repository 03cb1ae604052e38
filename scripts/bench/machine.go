package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/version"
)

// printHead says what was measured, when and on what.
func (r *rig) printHead(w io.Writer, title string, n rounds) {
	printHead(w, title, n, r.place())
}

// place is the engine and the image.
func (r *rig) place() string {
	engine := strings.TrimSpace(r.info.Name + " " + r.info.Version + ", " + r.info.Runtime)
	if r.info.Rootless {
		engine += ", rootless"
	}
	return engine + "; image " + short(r.image.Digest)
}

// printHead is rig's, of what is measured on something else.
func printHead(w io.Writer, title string, n rounds, on string) {
	fmt.Fprintf(w, "%s: %d counted runs after %d to warm up; median (least to most)\n", title, n.counted, n.warmup)
	printPlace(w, on)
}

// printPlace says when and on what.
func printPlace(w io.Writer, on string) {
	fmt.Fprintf(w, "%s; %s; berth %s, %s\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"), machine(), version.Version, on)
	fmt.Fprintf(w, "load before: %s\n\n", loadAverage())
}

// machine is "Linux 6.18.5, 2 x AMD EPYC 7B13, 24 GiB"; what can't be had is left out.
func machine() string {
	parts := []string{strings.TrimSpace(runtime.GOOS + "/" + runtime.GOARCH + " " + firstField("/proc/sys/kernel/osrelease"))}
	cpu := fmt.Sprintf("%d cores", runtime.NumCPU())
	if model := colonField("/proc/cpuinfo", "model name"); model != "" {
		cpu += " of " + model
	}
	parts = append(parts, cpu)
	var kib int64
	if _, err := fmt.Sscanf(colonField("/proc/meminfo", "MemTotal"), "%d kB", &kib); err == nil {
		parts = append(parts, fmt.Sprintf("%.0f GiB", float64(kib)/(1<<20)))
	}
	return strings.Join(parts, ", ")
}

// loadAverage is that of the last minute: a machine that does other work measures that too.
func loadAverage() string {
	if l := firstField("/proc/loadavg"); l != "" {
		return l
	}
	return "unknown"
}

func firstField(file string) string {
	b, err := os.ReadFile(file)
	if f := strings.Fields(string(b)); err == nil && len(f) > 0 {
		return f[0]
	}
	return ""
}

// colonField is the value of the first line "name : value" of a file.
func colonField(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func short(digest string) string {
	_, hex, _ := strings.Cut(digest, ":")
	return hex[:min(12, len(hex))]
}
