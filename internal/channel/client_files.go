package channel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/berth-run/berth/internal/channel/archive"
)

// Put implements Shard. All or nothing: the tar stream is unpacked beside dir and moved in when it
// is complete, entry by entry at the top; one that is there already is replaced.
func (c *Client) Put(ctx context.Context, dir string, tar io.Reader) error {
	if bulk := c.bulk(); bulk != nil {
		var ahead bytes.Buffer
		n, err := io.CopyN(&ahead, tar, bulkMin)
		if n == bulkMin {
			return c.putBulk(ctx, bulk, dir, io.MultiReader(&ahead, tar))
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		tar = &ahead
	}
	return c.putStream(ctx, dir, tar)
}

func (c *Client) putStream(ctx context.Context, dir string, tar io.Reader) error {
	s, err := c.stream(ctx, header{Op: opPut, Path: dir})
	if err != nil {
		return err
	}
	defer s.Close()
	answer := make(chan error, 1)
	go func() {
		answer <- readReply(s, nil)
		// A refusal comes before the end of what we send; it unblocks the writer.
		s.Stream.Close()
	}()
	_, err = newFrameWriter(s, kindData, dataMax).ReadFrom(tar)
	var source *sourceError
	if errors.As(err, &source) {
		return source.err
	}
	if err == nil {
		writeFrame(s, kindEnd, nil)
	}
	return s.cause(<-answer)
}

// Get implements Shard.
func (c *Client) Get(ctx context.Context, path string, w io.Writer) error {
	if bulk := c.bulk(); bulk != nil {
		var m archive.Measured
		if err := c.call(ctx, header{Op: opMeasure, Path: path}, nil, &m); err != nil {
			return err
		}
		if m.Plain && m.Bytes >= bulkMin {
			return c.getBulk(ctx, bulk, path, m, w)
		}
	}
	return c.getStream(ctx, path, w)
}

func (c *Client) getStream(ctx context.Context, path string, w io.Writer) error {
	s, err := c.stream(ctx, header{Op: opGet, Path: path})
	if err != nil {
		return err
	}
	defer s.Close()
	d := &dataReader{r: s}
	// The structs hide WriteTo and ReadFrom, which would choose smaller buffers.
	_, err = io.CopyBuffer(struct{ io.Writer }{sink{w}}, struct{ io.Reader }{d}, make([]byte, dataMax))
	return s.cause(err)
}

// sink marks the errors of the caller's own Writer.
type sink struct{ w io.Writer }

func (s sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		err = &sourceError{fmt.Errorf("write what the shard sent: %w", err)}
	}
	return n, err
}
