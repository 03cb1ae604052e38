package report

import (
	"fmt"
	"sort"
	"strings"

	"github.com/berth-run/berth/internal/results"
)

// facts are where and with what it ran; empty ones are left out.
func facts(f *results.Finished) []fact {
	rec := f.Record
	all := []fact{
		{"Run", rec.RunID}, {"Started", rec.CreatedAt}, {"Finished", rec.FinishedAt},
		{"berth", rec.MST.Version}, {"Shards", fmt.Sprint(rec.Environment.Shards)}, {"Platform", rec.Environment.Platform},
		{"Content hash", rec.ContentHash},
	}
	if r := rec.Runner; r != nil {
		all = append(all, runnerFacts(r)...)
	}
	for _, d := range rec.Datasets {
		all = append(all, fact{"Dataset", fmt.Sprintf("%s (%s)", d.Name, plural(d.CaseCount, "case"))})
	}
	var out []fact
	for _, x := range all {
		if x.Value != "" {
			out = append(out, x)
		}
	}
	return out
}

func runnerFacts(r *results.Runner) []fact {
	engine := strings.TrimSpace(r.Engine.Name + " " + r.Engine.Version)
	if r.Engine.Runtime != "" {
		engine += ", " + r.Engine.Runtime
	}
	if r.Engine.Rootless {
		engine += ", rootless"
	}
	if r.Engine.Remote {
		engine += ", remote"
	}
	return []fact{
		{"Engine", engine}, {"Image", r.Image.Ref}, {"Image digest", r.Image.Digest}, {"Versions", versions(r.Versions)},
		{"Inference", r.Inference}, {"Credential", r.Credential}, {"Network", r.Network},
		{"Limits", limits(r)}, {"Notes", strings.Join(r.Notes, "; ")},
	}
}

func versions(m map[string]string) string {
	var parts []string
	for k, v := range m {
		parts = append(parts, k+" "+v)
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

func limits(r *results.Runner) string {
	var parts []string
	if r.Limits.MemoryBytes > 0 {
		parts = append(parts, fmt.Sprintf("memory %d MiB", r.Limits.MemoryBytes>>20))
	}
	if r.Limits.Pids > 0 {
		parts = append(parts, fmt.Sprintf("%d processes", r.Limits.Pids))
	}
	if r.Limits.CPUWeight > 0 {
		parts = append(parts, fmt.Sprintf("CPU weight %d", r.Limits.CPUWeight))
	}
	text := strings.Join(parts, ", ")
	if r.LimitsMode != "" {
		text = strings.TrimSpace(text + " (" + r.LimitsMode + ")")
	}
	return text
}
