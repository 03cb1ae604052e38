package podman

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/berth-run/berth/backends"
)

// execStream is the connection of an exec: our bytes are its stdin, what comes is frames.
type execStream struct {
	net.Conn
	buf *bufio.Reader
}

// streamBuffer is for both directions: Podman's frames are 8 KiB, a channel's writes much more.
const streamBuffer = 256 << 10

func newExecStream(conn net.Conn) *execStream {
	return &execStream{Conn: conn, buf: bufio.NewReaderSize(conn, streamBuffer)}
}

func (s *execStream) Read(p []byte) (int, error) { return s.buf.Read(p) }

// send copies stdin and ends it. A write fails when the process has ended, which the other direction
// shows too; the reader's own error is returned, and stdin isn't ended then: what came so far must not
// pass for all.
func (s *execStream) send(stdin io.Reader) error {
	if err := backends.CopyStdin(s.Conn, stdin, streamBuffer); err != nil {
		return err
	}
	_ = s.closeWrite()
	return nil
}

// closeWrite is the end of stdin. Unix, TCP and ssh connections have it.
func (s *execStream) closeWrite() error {
	if c, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Streams of a frame.
const (
	streamStdin  = 0
	streamStdout = 1
	streamStderr = 2
)

// frameBuffer holds more than any frame that Podman sends.
const frameBuffer = 32 << 10

// demux reads frames until the end: a header of a stream, three zeros and a length (big-endian), then
// that many bytes. A nil writer drops its stream.
func demux(r io.Reader, stdout, stderr io.Writer) error {
	out := map[byte]io.Writer{streamStdin: stdout, streamStdout: stdout, streamStderr: stderr}
	var header [8]byte
	buf := make([]byte, frameBuffer)
	for {
		if _, err := io.ReadFull(r, header[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("reading the exec's stream: %w", err)
		}
		w, ok := out[header[0]]
		if !ok {
			return fmt.Errorf("the exec's stream has a frame of unknown kind %d", header[0])
		}
		if w == nil {
			w = io.Discard
		}
		frame := &io.LimitedReader{R: r, N: int64(binary.BigEndian.Uint32(header[4:]))}
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{frame}, buf)
		if err == nil && frame.N > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("copying the exec's output: %w", err)
		}
	}
}
