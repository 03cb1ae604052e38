package rig

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/shardproto"
)

const Arch = runtime.GOARCH

// Patience bounds every wait for something that must happen, on an emulated machine too; none of it is a time
// that is measured.
const Patience = 5 * time.Minute

// Result is how a command ended.
type Result struct {
	Status         int // the exit status, -1 for a signal
	Stdout, Stderr string
	// Dir is the newest folder of the project's runs, "" when there is none.
	Dir string
}

// Command is a berth under way.
type Command struct {
	*Project
	Cmd    *exec.Cmd
	stdout bytes.Buffer
	done   chan struct{} // stderr has ended

	mu     sync.Mutex
	stderr bytes.Buffer
	grown  chan struct{} // closed with the next line
}

// Start runs `berth run` in the background.
func (p *Project) Start(args ...string) *Command {
	p.T.Helper()
	return p.command(p.runArgs(args...)...)
}

// command runs berth with any arguments in the background, in a process group of its own. A test
// that fails doesn't leave it behind.
func (p *Project) command(args ...string) *Command {
	p.T.Helper()
	return p.commandTo(nil, args...)
}

// commandTo is command with a file for stdout; nil keeps it for the result.
func (p *Project) commandTo(stdout *os.File, args ...string) *Command {
	p.T.Helper()
	c := &Command{Project: p, done: make(chan struct{}), grown: make(chan struct{})}
	c.Cmd = exec.Command(p.Berth, args...)
	c.Cmd.Dir = p.dir
	c.Cmd.Env = Environment(slices.Concat([]string{p.mark, "TMPDIR=" + p.Path("tmp")}, p.Engine.Env(), p.Env)...)
	c.Cmd.Stdout = &c.stdout
	if stdout != nil {
		c.Cmd.Stdout = stdout
	}
	c.Cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.Change != nil {
		p.Change(c.Cmd)
	}
	stderr, err := c.Cmd.StderrPipe()
	if err != nil {
		p.T.Fatal(err)
	}
	if err := c.Cmd.Start(); err != nil {
		p.T.Fatal(err)
	}
	go c.read(stderr)
	p.T.Cleanup(func() {
		if c.Cmd.ProcessState == nil {
			_ = c.Cmd.Process.Kill()
			_ = c.Cmd.Wait()
		}
		if p.T.Failed() {
			p.T.Logf("%s\n%s%s", c.Cmd, c.said(), c.stdout.String())
		}
	})
	return c
}

// BerthDo runs any command of berth's to its end.
func (p *Project) BerthDo(args ...string) Result {
	p.T.Helper()
	return p.command(args...).Wait()
}

// OnEngine runs one of berth's commands for an engine to its end.
func (p *Project) OnEngine(command string, args ...string) Result {
	p.T.Helper()
	return p.BerthDo(append([]string{command, "--runner", p.Engine.Runner()}, args...)...)
}

func (c *Command) read(stderr io.Reader) {
	defer close(c.done)
	lines := bufio.NewReader(stderr)
	for {
		line, err := lines.ReadString('\n')
		c.mu.Lock()
		c.stderr.WriteString(line)
		close(c.grown)
		c.grown = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *Command) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stderr.String()
}

// Await waits until what it printed to stderr holds text.
func (c *Command) Await(text string) {
	c.T.Helper()
	late := time.After(Patience)
	for {
		c.mu.Lock()
		said, grown := c.stderr.String(), c.grown
		c.mu.Unlock()
		if strings.Contains(said, text) {
			return
		}
		select {
		case <-grown:
		case <-c.done:
			if !strings.Contains(c.said(), text) {
				c.T.Fatalf("it ended without a word of %q", text)
			}
		case <-late:
			c.T.Fatalf("not a word of %q in %s", text, Patience)
		}
	}
}

// AwaitTrial waits until a trial of the case has come back.
func (c *Command) AwaitTrial(id string) {
	c.T.Helper()
	c.Await(" " + id + " #0 ")
}

func (c *Command) Signal(s os.Signal) {
	c.T.Helper()
	if err := c.Cmd.Process.Signal(s); err != nil {
		c.T.Fatal(err)
	}
}

// Wait waits for the end.
func (c *Command) Wait() Result {
	c.T.Helper()
	return c.WaitFor(2 * Patience)
}

// WaitFor is Wait for what takes long.
func (c *Command) WaitFor(limit time.Duration) Result {
	c.T.Helper()
	select {
	case <-c.done:
	case <-time.After(limit):
		_ = c.Cmd.Process.Signal(syscall.SIGQUIT) // Go's own trace is the best there is to say
		<-c.done
		_ = c.Cmd.Wait()
		c.T.Fatalf("%s didn't end in %s", c.Cmd, limit)
	}
	err := c.Cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.T.Fatal(err)
	}
	r := Result{Status: c.Cmd.ProcessState.ExitCode(), Stdout: c.stdout.String(), Stderr: c.said()}
	if runs := c.Runs(); len(runs) > 0 {
		r.Dir = runs[len(runs)-1]
	}
	return r
}

// Expect checks the exit status, and that stderr has the texts.
func (r Result) Expect(t *testing.T, status int, texts ...string) {
	t.Helper()
	if r.Status != status {
		t.Errorf("exit status %d, want %d\n%s", r.Status, status, r.Stderr)
	}
	for _, text := range texts {
		if !strings.Contains(r.Stderr, text) {
			t.Errorf("not a word of %q in:\n%s", text, r.Stderr)
		}
	}
}

// Outcomes gives each case's outcome in the run's results.json: passed, failed, missing, ungraded,
// and infra where infrastructure lost a trial. Cases of several variants are named VARIANT/CASE.
func (r Result) Outcomes(t *testing.T) map[string]string {
	t.Helper()
	var res results.Results
	r.read(t, "results.json", &res)
	out := map[string]string{}
	for _, c := range res.Cases {
		name, outcome := c.ID, c.Outcome
		if c.Variant != "default" {
			name = c.Variant + "/" + c.ID
		}
		if c.Infra > 0 {
			outcome = "infra"
		}
		out[name] = outcome
	}
	return out
}

// Record is the run's run.json.
func (r Result) Record(t *testing.T) results.Record {
	t.Helper()
	return record(t, r.Dir)
}

// Trials are the trials on disk by case.
func (r Result) Trials(t *testing.T) map[string]*results.Trial {
	t.Helper()
	run, err := results.Open("", r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := run.Trials()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*results.Trial{}
	for k, trial := range all {
		out[k.CaseID] = trial
	}
	return out
}

// read reads a JSON file of the run's folder.
func (r Result) read(t *testing.T, name string, v any) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(r.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Interrupt is Ctrl-C: the terminal's whole foreground group gets it.
func (c *Command) Interrupt() {
	c.T.Helper()
	Kill(c.T, -c.Cmd.Process.Pid, syscall.SIGINT)
}

// AllTrials are the run's trials by their full keys.
func (r Result) AllTrials(t *testing.T) map[shardproto.Key]*results.Trial {
	t.Helper()
	run, err := results.Open("", r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := run.Trials()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// HasLine tells whether one line holds all words.
func HasLine(text string, words ...string) bool {
	for line := range strings.Lines(text) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			return true
		}
	}
	return false
}
