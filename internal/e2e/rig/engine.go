package rig

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/berth-run/berth/backends"
)

// Engine is a container engine that runs are on, and a look at it that isn't berth's.
type Engine interface {
	// Runner is its name for berth.
	Runner() string
	// Env is what berth finds it by.
	Env() []string
	// Info is what it says of itself.
	Info(t *testing.T) backends.Info

	// Shards are a run's containers.
	Shards(t *testing.T, runID string) []Shard
	// Remove takes a container away.
	Remove(t *testing.T, id string)
	// Wait waits for the end of a container's PID 1 and gives its exit status.
	Wait(t *testing.T, id string) int
	// Left tells what there is of containers: of those that are gone, nothing.
	Left(t *testing.T, containers []string) []string
	// LeftInAll tells what there is of containers at all, where the engine is the test's own.
	LeftInAll(t *testing.T) []string
	// Stored is how many bytes are taken of its disk, where that is its own.
	Stored(t *testing.T) int64
	// Clear takes all containers away, for a test that has failed.
	Clear(t *testing.T)
	// runtimeDir is where berth keeps its sockets for it.
	runtimeDir() string
	// Monitor is in the command lines of processes that belong to a shard, and not to the berth that
	// started them.
	Monitor() string

	// Share gives what berths in several containers find the engine by.
	Share(t *testing.T) (env []string)
	// Stoppable has an engine that the project's runs start themselves be one that Stop can stop.
	Stoppable(p *Project)
	// Restart kills the engine in the middle of the project's run. It's back soon.
	Restart(p *Project)
	// Stop kills it, and it doesn't come back before Start.
	Stop(p *Project)
	Start(p *Project)
}

// Shard is a run's container as the engine tells it, independently of berth.
type Shard struct {
	ID     string
	State  string
	Pid    int // of PID 1 on the host
	Labels map[string]string
}

// On gives the tools with an engine, which gets the image.
func On(t *testing.T, e Engine) Tools {
	t.Helper()
	tools := Without(t, e)
	if err := tools.makeImage(); err != nil {
		t.Fatal(err)
	}
	return tools
}

// Without gives the tools with an engine that has no image.
func Without(t *testing.T, e Engine) Tools {
	t.Helper()
	if err := binaries(); err != nil {
		t.Fatal(err)
	}
	tools := Prepared
	tools.Engine = e
	tools.Limits = enforces(e.Info(t))
	return tools
}

func enforces(i backends.Info) bool {
	c := i.Capabilities
	return c.MemoryLimit && c.PidsLimit && c.CPUWeight
}

// makeImage gives the engine the image that has the sample's MCP server.
func (tools Tools) makeImage() error {
	cmd := exec.Command(tools.Berth, tools.setUpArgs(Image)...)
	cmd.Env = Environment(tools.Engine.Env()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// setUpArgs is the command line that makes the image, by a name.
func (tools Tools) setUpArgs(name string) []string {
	config, _ := filepath.Abs(InModule("testdata/sample/codex.json")) // fails without a working folder
	return []string{"runner", "setup", tools.Engine.Runner(), "--config", config,
		"--runner-option", "overlay=" + tools.overlay, "--name", name}
}

// StartSetUp makes an image by another name, in the background.
func (p *Project) StartSetUp(name string) *Command {
	p.T.Helper()
	return p.command(p.setUpArgs(name)...)
}

// SetUp gives the engine the image, or tries.
func (p *Project) SetUp() Result {
	p.T.Helper()
	return p.StartSetUp(Image).Wait()
}

// RemoveShards takes a run's containers away, for tests that leave some.
func (p *Project) RemoveShards(runID string) {
	p.T.Helper()
	for _, s := range p.Engine.Shards(p.T, runID) {
		p.Engine.Remove(p.T, s.ID)
	}
}
