package channel

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/yamux"
)

// Command implements Shard. Cancelling ctx, or losing the link, kills the process with all its
// descendants; it's never started twice.
func (c *Client) Command(ctx context.Context, cmd Command) (CommandResult, error) {
	s, err := c.stream(ctx, header{Op: opCommand, Command: &commandRequest{Command: cmd, Stdin: cmd.Stdin != nil}})
	if err != nil {
		return CommandResult{}, err
	}
	defer s.Close()
	result, err := s.command(cmd)
	return result, s.cause(err)
}

func (s *stream) command(cmd Command) (CommandResult, error) {
	var started struct {
		ID uint64 `json:"id"`
	}
	if err := readReply(s, &started); err != nil {
		return CommandResult{}, err
	}
	if cmd.Stdin != nil {
		in, err := s.link.OpenStream()
		if err != nil {
			return CommandResult{}, err
		}
		// Not waited for: a Stdin whose Read blocks must not outlast the process.
		defer in.Close()
		go sendStdin(in, started.ID, cmd.Stdin)
	}
	return readOutput(s, cmd.Stdout, cmd.Stderr)
}

func sendStdin(in *yamux.Stream, id uint64, r io.Reader) {
	defer in.Close()
	if err := writeHeader(in, header{Op: opStdin, ID: id}); err != nil {
		return
	}
	// A Stdin that fails ends like one that is at its end; its owner knows.
	_, err := newFrameWriter(in, kindData, outputMax).ReadFrom(r)
	var source *sourceError
	if err == nil || errors.As(err, &source) {
		writeFrame(in, kindEnd, nil)
	}
}

// readOutput copies what the process writes until the reply that says how it ended.
func readOutput(r io.Reader, stdout, stderr io.Writer) (CommandResult, error) {
	for {
		k, payload, err := readFrame(r)
		if err != nil {
			return CommandResult{}, unexpected(err)
		}
		switch k {
		case kindStdout:
			err = write(stdout, payload)
		case kindStderr:
			err = write(stderr, payload)
		case kindReply:
			var result CommandResult
			err := parseReply(payload, &result)
			return result, err
		default:
			err = fmt.Errorf("%w: frame %q in a command's output", ErrProtocol, byte(k))
		}
		if err != nil {
			return CommandResult{}, err
		}
	}
}

func write(w io.Writer, p []byte) error {
	if w == nil {
		return nil
	}
	if _, err := w.Write(p); err != nil {
		return &sourceError{err}
	}
	return nil
}
