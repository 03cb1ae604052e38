package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client/process"
)

// startLimit bounds each step of a program's start.
const startLimit = 30 * time.Second

// Codex is the binary with what every program of it is started with.
type Codex struct {
	Path string
	// Dir is where it is started.
	Dir string
	// Env is all of its environment but for the mark.
	Env []string
	// Mark, from process.NewMark, is by what all that came of it is found and ended.
	Mark string
	// Redact is applied to what it says in an error.
	Redact *redact.Set
}

// CheckPath makes sure that path is a program, for the client called name.
func CheckPath(path, name string) error {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return code.Errorf(code.CodexPathInvalid, "%s is no program; is this an image for %s?", path, name)
	}
	return nil
}

// Version asks the binary.
func Version(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	// An empty HOME keeps it from making a folder there.
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent"}
	out, err := cmd.Output()
	if err != nil {
		return "", code.Errorf(code.CodexPathInvalid, "%s --version: %w", path, err)
	}
	fields := strings.Fields(string(out)) // "codex-cli 0.171.0"
	if len(fields) == 0 {
		return "", code.Errorf(code.CodexPathInvalid, "%s tells no version", path)
	}
	return fields[len(fields)-1], nil
}

// Environ is vars as an environment, in the order of their names.
func Environ(vars map[string]string) []string {
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

// command runs a subcommand with stdin and gives what it wrote, to either place.
func (c Codex) command(ctx context.Context, limit time.Duration, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p, err := process.Start(process.Spec{Path: c.Path, Args: args, Dir: c.Dir, Env: c.Env, Mark: c.Mark})
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&out, io.LimitReader(p.Stdout, 64<<10)) // its end, or the limit's
	}()
	_, werr := io.WriteString(p.Stdin, stdin)
	p.Stdin.Close()
	select {
	case <-p.Done():
	case <-ctx.Done():
	}
	err = errors.Join(ctx.Err(), p.End(ctx))
	<-read
	text := out.String() + p.Stderr()
	switch {
	case err != nil:
		return text, err
	case p.Exit() != "exit status 0":
		return text, errors.New(p.Exit())
	}
	return text, werr
}

// lastLine is a program's last word, for an error: its last line, or the one that says to be the error,
// after which there may be a backtrace.
func (c Codex) lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, "Error: "); ok {
			last = strings.TrimSpace(text)
		}
	}
	if last != "" {
		return fmt.Sprintf(": %s", c.Redact.String(last))
	}
	return ""
}
