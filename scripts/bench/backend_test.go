package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/plan"
	"github.com/berth-run/berth/oci"
)

func measured() *findings {
	f := newFindings()
	f.lives = map[string]times{
		bedPodman:    {metricStart: {100, 120, 110}, stepCreate: {20}, stepStart: {70}, stepChannel: {12}, metricExec: {60}, metricCommand: {2}, metricRemove: {80}},
		bedPodmanCLI: {metricStart: {220}, metricExec: {150}, metricRemove: {90}},
		bedDocker:    {metricStart: {440}, metricExec: {200}, metricRemove: {100}},
	}
	f.crowds = map[many]sample{
		{bedPodman, 4, 4}: {300}, {bedPodman, 16, 16}: {1200},
		{bedPodmanCLI, 16, 4}: {2000}, {bedPodmanCLI, 16, 8}: {1600}, {bedPodmanCLI, 16, 16}: {2400},
	}
	f.memory = map[string]times{bedPodman: {metricMemory: {41.5}, metricShards: {16}}}
	f.missing = map[string]string{bedContainerd: needsRoot}
	return f
}

func TestBackendTables(t *testing.T) {
	var b strings.Builder
	measured().print(&b)
	for _, line := range []string{
		"| berth, Podman rootless | 110 (100 to 120) | 60.0 (60.0 to 60.0) | 2.00 (2.00 to 2.00) | 80.0 (80.0 to 80.0) |",
		"| `podman run`           | 220 (220 to 220) | 150 (150 to 150)    | the exec            | 90.0 (90.0 to 90.0) |",
		"| berth, Podman rootless | 20.0 (20.0 to 20.0) | 70.0 (70.0 to 70.0) | 12.0 (12.0 to 12.0) |",
		"| berth, Podman rootless  | 16         | by itself | 1200 (1200 to 1200) |",
		"| `podman run`            | 16         | 8         | 1600 (1600 to 1600) |",
		"| berth, Podman rootless  | 16             | 41.5                             |",
		"berth, containerd isn't measured: " + needsRoot,
		"RATIO podman-start/podman-cli 0.5000", "RATIO podman-start/docker-cli 0.2500",
		"RATIO channel/podman-exec 0.0133", "RATIO channel/docker-exec 0.0100",
		"RATIO podman-16/best 0.7500",
		"no RATIO containerd-start/ctr-cli: its peer isn't measured", "no RATIO containerd-16/best: its peer isn't measured",
	} {
		if !strings.Contains(inWords(b.String()), inWords(line)) {
			t.Errorf("no line %q in\n%s", line, b.String())
		}
	}
	if n := strings.Count(b.String(), "\nRATIO "); n != 5 {
		t.Errorf("%d figures, want those 5 that were measured", n)
	}
}

// inWords leaves a table's padding out.
func inWords(text string) string { return strings.Join(strings.Fields(text), " ") }

// played is a half whose beds all take as many milliseconds as the tasks it was asked for before.
type played struct {
	beds  []string
	asked []task
}

func (p *played) do(_ context.Context, t task) (answer, error) {
	p.asked = append(p.asked, t)
	switch t.Do {
	case doOpen:
		a := answer{Beds: map[string]string{}, Missing: map[string]string{bedDocker: "no dockerd"}, Dir: "image"}
		for _, name := range p.beds {
			a.Beds[name] = "engine 1"
		}
		return a, nil
	case doCrowd, doLife:
		return answer{Times: times{metricStart: {float64(len(p.asked))}}}, nil
	}
	return answer{}, errors.New("no such task")
}

func TestEveryBedHasItsTurn(t *testing.T) {
	p := &played{beds: []string{bedPodman, bedPodmanCLI}}
	f := newFindings()
	if err := f.open(t.Context(), []doer{p}); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		if err := f.round(t.Context(), round, round > 0); err != nil {
			t.Fatal(err)
		}
	}
	perRound := map[task]int{}
	for _, a := range p.asked[1:] {
		perRound[a]++
	}
	want := map[task]int{
		{Do: doLife, Bed: bedPodman}: 3, {Do: doLife, Bed: bedPodmanCLI}: 3,
		{Do: doCrowd, Bed: bedPodman, N: 4, Parallel: 4}: 3, {Do: doCrowd, Bed: bedPodmanCLI, N: 4, Parallel: 4}: 3,
		{Do: doCrowd, Bed: bedPodman, N: 16, Parallel: 16}:   3,
		{Do: doCrowd, Bed: bedPodmanCLI, N: 16, Parallel: 4}: 3, {Do: doCrowd, Bed: bedPodmanCLI, N: 16, Parallel: 8}: 3,
		{Do: doCrowd, Bed: bedPodmanCLI, N: 16, Parallel: 16}: 3,
	}
	if diff := cmp.Diff(want, perRound); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := len(f.lives[bedPodman][metricStart]); n != 2 {
		t.Errorf("%d runs count, want 2", n)
	}
	if f.missing[bedDocker] != "no dockerd" || f.missing[bedCtr] != needsRoot || f.missing[bedPodman] != "" {
		t.Errorf("missing %v", f.missing)
	}
}

// TestPeersGetWhatAShardHas: each command line asks for the same process, mounts, limits and protections.
func TestPeersGetWhatAShardHas(t *testing.T) {
	s, err := oci.ShardSpec{}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{image: backends.Image{Ref: "image"}, info: backends.Info{Capabilities: backends.Capabilities{MemoryLimit: true, PidsLimit: true}}}
	for name, b := range map[string]*cliBed{
		"podman": podmanBed(r, s),
		"docker": dockerBed(r, s, []string{"docker"}, "image", "seccomp.json"),
		"ctr":    ctrBed(r, s, nil, "c.sock", "image", "seccomp.json", &[2]string{peerIDs, peerIDs}),
	} {
		line := strings.Join(b.line(b.run("name")), "\n")
		for _, part := range wantedParts(s) {
			if !strings.Contains(line, part) {
				t.Errorf("%s lacks %q:\n%s", name, part, line)
			}
		}
		if !strings.HasSuffix(line, strings.Join(announced(s.Process.Args), "\n")) {
			t.Errorf("%s runs something else:\n%s", name, line)
		}
	}
}

func wantedParts(s *specs.Spec) []string {
	parts := []string{"--read-only", "cap-drop=", "seccomp", "memory", "2147483648"}
	for _, m := range ownTmpfs(s) {
		parts = append(parts, m.Destination)
	}
	for _, e := range s.Process.Env {
		parts = append(parts, "--env="+e)
	}
	return parts
}

func TestSpreadHasACaseForEachShard(t *testing.T) {
	dir := t.TempDir()
	if err := writeSpread(dir, 16); err != nil {
		t.Fatal(err)
	}
	var cases struct{ Cases []struct{ ID string } }
	text, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err == nil {
		err = json.Unmarshal(text, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, c := range cases.Cases {
		seen[plan.ShardOf(c.ID, 16)] = true
	}
	if len(seen) != 16 || len(cases.Cases) != 16 {
		t.Errorf("%d cases in %d shards, want 16 in as many", len(cases.Cases), len(seen))
	}
}
