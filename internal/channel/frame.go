package channel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Every stream is a sequence of frames: one byte of kind, four of length (big endian), a payload.
// An operation's end is a frame of its own, because a lost link reads like an orderly end of stream.
// Tunnel streams are the exception: raw bytes follow their first frame.
type kind byte

const (
	kindHeader  kind = 'h' // JSON request, the first frame of a stream
	kindReply   kind = 'r' // JSON reply
	kindData    kind = 'd' // bytes of the stream's one content
	kindEnd     kind = 'e' // and their end
	kindStdout  kind = '1'
	kindStderr  kind = '2'
	kindMessage kind = 'm' // 8 bytes of number, one JSON message
	kindAck     kind = 'a' // 8 bytes: every message up to this number was taken
)

const (
	frameHead  = 5
	dataMax    = 256 << 10
	outputMax  = 64 << 10 // of a frame of a command's input or output: what a pipe holds
	headerMax  = 64 << 10
	replyMax   = 1 << 20
	messageMax = 1 << 20
	tokenMax   = 64 << 10
)

// limit is the longest payload of a kind, and -1 for a kind that doesn't exist.
func (k kind) limit() int {
	switch k {
	case kindHeader:
		return headerMax
	case kindReply:
		return replyMax
	case kindData, kindStdout, kindStderr:
		return dataMax
	case kindMessage:
		return 8 + messageMax
	case kindAck:
		return 8
	case kindEnd:
		return 0
	}
	return -1
}

// readHead reads a frame's kind and length, and refuses a length above the kind's limit.
func readHead(r io.Reader) (kind, int, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, err
	}
	k, n := kind(head[0]), binary.BigEndian.Uint32(head[1:])
	if limit := k.limit(); limit < 0 || int64(n) > int64(limit) {
		return 0, 0, fmt.Errorf("%w: frame %q of %d bytes", ErrProtocol, head[0], n)
	}
	return k, int(n), nil
}

// readFrame reads one frame whole. io.EOF means that the stream ended between two frames.
func readFrame(r io.Reader) (kind, []byte, error) {
	k, n, err := readHead(r)
	if err != nil {
		return 0, nil, err
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, unexpected(err)
	}
	return k, payload, nil
}

// writeFrame writes one frame in a single Write, which yamux keeps in one piece.
func writeFrame(w io.Writer, k kind, payload []byte) error {
	if len(payload) > k.limit() {
		return fmt.Errorf("%w: %d bytes are more than a frame %q can have", ErrInvalid, len(payload), byte(k))
	}
	buf := make([]byte, frameHead+len(payload))
	copy(buf[frameHead:], payload)
	return seal(w, buf, k)
}

// seal fills in the head of a frame whose payload starts at buf[frameHead], and writes it.
func seal(w io.Writer, buf []byte, k kind) error {
	buf[0] = byte(k)
	binary.BigEndian.PutUint32(buf[1:], uint32(len(buf)-frameHead))
	_, err := w.Write(buf)
	return err
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// frameWriter is an io.Writer whose bytes become frames of one kind. Not for concurrent use.
type frameWriter struct {
	w    io.Writer
	kind kind
	buf  []byte
}

// newFrameWriter makes frames of at most size bytes.
func newFrameWriter(w io.Writer, k kind, size int) *frameWriter {
	return &frameWriter{w: w, kind: k, buf: make([]byte, frameHead+size)}
}

func (f *frameWriter) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		n := copy(f.buf[frameHead:], p)
		if err := seal(f.w, f.buf[:frameHead+n], f.kind); err != nil {
			return written, err
		}
		written, p = written+n, p[n:]
	}
	return written, nil
}

// ReadFrom reads straight into the frame, so that bulk data is copied once less.
func (f *frameWriter) ReadFrom(r io.Reader) (int64, error) {
	var total int64
	for {
		n, err := r.Read(f.buf[frameHead:])
		if n > 0 {
			if werr := seal(f.w, f.buf[:frameHead+n], f.kind); werr != nil {
				return total, werr
			}
			total += int64(n)
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, &sourceError{err}
		}
	}
}

// sourceError marks an error of what is being sent, as against one of the link.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// dataReader reads the content of data frames up to the end frame. A reply in their place is the
// other end's error.
type dataReader struct {
	r    io.Reader
	left int
	err  error
}

func (d *dataReader) Read(p []byte) (int, error) {
	for d.left == 0 && d.err == nil {
		d.left, d.err = d.next()
	}
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.r.Read(p[:min(len(p), d.left)])
	d.left -= n
	if err != nil {
		d.err = unexpected(err)
	}
	return n, d.err
}

func (d *dataReader) next() (int, error) {
	k, n, err := readHead(d.r)
	if err != nil {
		return 0, unexpected(err)
	}
	switch k {
	case kindData:
		return n, nil
	case kindEnd:
		return 0, io.EOF
	case kindReply:
		payload := make([]byte, n)
		if _, err := io.ReadFull(d.r, payload); err != nil {
			return 0, unexpected(err)
		}
		if err := parseReply(payload, nil); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("%w: frame %q in the middle of data", ErrProtocol, byte(k))
}
