package inference

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// commandTimeout is how long a token command may take.
	commandTimeout = 30 * time.Second
	// pipeGrace is how long its output may stay open after it, in the hands of a process it left.
	pipeGrace = time.Second
)

// errOutput ends the reading of a command that prints far more than a token.
var errOutput = errors.New("too much output")

// fromCommand makes a fetch of a shell command that prints a token. What goes wrong is told by the
// exit status alone: its output may hold the secret.
func fromCommand(command string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		out, err := runCommand(ctx, command, commandTimeout)
		if err != nil {
			return "", err
		}
		token := strings.TrimRight(out, "\r\n")
		if token == "" {
			return "", fmt.Errorf("%w printed nothing: it must print the token on stdout", ErrCommand)
		}
		if err := checkToken(token); err != nil {
			return "", fmt.Errorf("%w printed a text that is %w", ErrCommand, err)
		}
		return token, nil
	}
}

// runCommand gives the stdout of a shell command. When time is up, its whole process group is killed.
func runCommand(ctx context.Context, command string, timeout time.Duration) (string, error) {
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(timed, "/bin/sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeGrace
	var out limited
	cmd.Stdout = &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case timed.Err() != nil:
		return "", fmt.Errorf("%w took more than %s and was killed", ErrCommand, timeout)
	case out.over: // the command may well have died of it
		return "", fmt.Errorf("%w printed a text that is %w: it's longer than %d characters", ErrCommand, ErrToken, maxToken)
	case errors.As(err, &exit) && exit.Exited():
		return "", fmt.Errorf("%w failed with exit status %d", ErrCommand, exit.ExitCode())
	case errors.As(err, &exit):
		return "", fmt.Errorf("%w was ended by %s", ErrCommand, exit.Sys().(syscall.WaitStatus).Signal())
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // which says that it went well, and left a process
		return "", fmt.Errorf("%w couldn't be started: %w", ErrCommand, err)
	}
	return out.buf.String(), nil
}

// limited takes a token's length and the end of its line. The buffer isn't embedded: its ReadFrom
// would take everything.
type limited struct {
	buf  bytes.Buffer
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.over = l.over || l.buf.Len()+len(p) > maxToken+2; l.over {
		return 0, errOutput
	}
	return l.buf.Write(p)
}
