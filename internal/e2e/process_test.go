package e2e

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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/results"
)

const arch = runtime.GOARCH

// patience bounds every wait for something that must happen; none of it is a time that is measured.
const patience = 2 * time.Minute

// result is how a command ended.
type result struct {
	status         int // the exit status, -1 for a signal
	stdout, stderr string
	// dir is the newest folder of the project's runs, "" when there is none.
	dir string
}

// command is a berth under way.
type command struct {
	*project
	cmd    *exec.Cmd
	stdout bytes.Buffer
	done   chan struct{} // stderr has ended

	mu     sync.Mutex
	stderr bytes.Buffer
	grown  chan struct{} // closed with the next line
}

// start runs `berth run` in the background.
func (p *project) start(args ...string) *command {
	p.t.Helper()
	return p.command(p.runArgs(args...)...)
}

// command runs berth with any arguments in the background, in a process group of its own. A test
// that fails doesn't leave it behind.
func (p *project) command(args ...string) *command {
	p.t.Helper()
	return p.commandTo(nil, args...)
}

// commandTo is command with a file for stdout; nil keeps it for the result.
func (p *project) commandTo(stdout *os.File, args ...string) *command {
	p.t.Helper()
	c := &command{project: p, done: make(chan struct{}), grown: make(chan struct{})}
	c.cmd = exec.Command(p.berth, args...)
	c.cmd.Dir = p.dir
	c.cmd.Env = environment(append([]string{p.mark, "TMPDIR=" + p.path("tmp")}, p.env...)...)
	c.cmd.Stdout = &c.stdout
	if stdout != nil {
		c.cmd.Stdout = stdout
	}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.change != nil {
		p.change(c.cmd)
	}
	stderr, err := c.cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go c.read(stderr)
	p.t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			c.cmd.Process.Kill()
			c.cmd.Wait()
		}
		if p.t.Failed() {
			p.t.Logf("%s\n%s%s", c.cmd, c.said(), c.stdout.String())
		}
	})
	return c
}

// berthDo runs any command of berth's to its end.
func (p *project) berthDo(args ...string) result {
	p.t.Helper()
	return p.command(args...).wait()
}

func (c *command) read(stderr io.Reader) {
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

func (c *command) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stderr.String()
}

// await waits until what it printed to stderr holds text.
func (c *command) await(text string) {
	c.t.Helper()
	late := time.After(patience)
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
				c.t.Fatalf("it ended without a word of %q", text)
			}
		case <-late:
			c.t.Fatalf("not a word of %q in %s", text, patience)
		}
	}
}

// awaitTrial waits until a trial of the case has come back.
func (c *command) awaitTrial(id string) {
	c.t.Helper()
	c.await(" " + id + " #0 ")
}

func (c *command) signal(s os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// wait waits for the end.
func (c *command) wait() result {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(2 * patience):
		c.cmd.Process.Signal(syscall.SIGQUIT) // Go's own trace is the best there is to say
		<-c.done
		c.cmd.Wait()
		c.t.Fatalf("%s didn't end in %s", c.cmd, 2*patience)
	}
	err := c.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	r := result{status: c.cmd.ProcessState.ExitCode(), stdout: c.stdout.String(), stderr: c.said()}
	if runs := c.runs(); len(runs) > 0 {
		r.dir = runs[len(runs)-1]
	}
	return r
}

// expect checks the exit status, and that stderr has the texts.
func (r result) expect(t *testing.T, status int, texts ...string) {
	t.Helper()
	if r.status != status {
		t.Errorf("exit status %d, want %d\n%s", r.status, status, r.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(r.stderr, text) {
			t.Errorf("not a word of %q in:\n%s", text, r.stderr)
		}
	}
}

// outcomes gives each case's outcome in the run's results.json: passed, failed, missing, ungraded,
// and infra where infrastructure lost a trial. Cases of several variants are named VARIANT/CASE.
func (r result) outcomes(t *testing.T) map[string]string {
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

// record is the run's run.json.
func (r result) record(t *testing.T) results.Record {
	t.Helper()
	return record(t, r.dir)
}

// trials are the trials on disk by case.
func (r result) trials(t *testing.T) map[string]*results.Trial {
	t.Helper()
	run, err := results.Open("", r.dir)
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
func (r result) read(t *testing.T, name string, v any) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
