package runner

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/oci"
	"github.com/berth-run/berth/session/client"
)

// maxResultBytes bounds a result file: the shard isn't trusted.
const maxResultBytes = 64 << 20

// fetch reads one result file, which must be the trial's that the message named.
func (c *collector) fetch(ctx context.Context, l channel.Shard, name string, key shardproto.Key) (client.Result, error) {
	if !fs.ValidPath(name) || name == "." {
		return client.Result{}, code.Errorf(code.ParseFailure, "result of %s has the path %q", key.CaseID, name)
	}
	var buf bounded
	err := again(func() error {
		buf = bounded{limit: maxResultBytes + tarOverhead}
		return c.get(ctx, l, oci.RunDir+"/results/"+name, &buf)
	})
	if err != nil {
		return client.Result{}, err
	}
	var f shardproto.ResultFile
	body, err := untar1(&buf.got, maxResultBytes)
	if err == nil {
		err = json.Unmarshal(body, &f)
	}
	if err != nil {
		return client.Result{}, code.Errorf(code.ParseFailure, "result of %s: %w", key.CaseID, err)
	}
	if f.Format != shardproto.Format || f.Kind != shardproto.KindResult || f.Key != key {
		return client.Result{}, code.Errorf(code.ParseFailure, "result of %s is marked %q %q for %q", key.CaseID, f.Format, f.Kind, f.Key.CaseID)
	}
	return f.Result, nil
}

// evidence takes home what the clients kept. It never changes an outcome: what can't be had is said.
func (c *collector) evidence(ctx context.Context, l channel.Shard) {
	if err := again(func() error { return c.takeEvidence(ctx, l) }); err != nil {
		c.say.printf("evidence not copied whole: %v", err)
	}
}

func (c *collector) takeEvidence(ctx context.Context, l channel.Shard) error {
	r, w := io.Pipe()
	recorded := make(chan error, 1)
	go func() {
		err := c.Recorder.Evidence(c.bundle.Shard.Index, r)
		r.CloseWithError(io.ErrClosedPipe) // whatever it didn't read
		recorded <- err
	}()
	err := c.get(ctx, l, oci.RunDir+"/results/evidence", w)
	w.CloseWithError(err)
	if rerr := <-recorded; rerr != nil {
		err = rerr // which is err again, unless it came first
	}
	return err
}

// attempts is how often a transfer that a lost link cut is made. Links are rarely lost; a worker that
// cuts each one isn't to be asked for ever.
const attempts = 5

// again repeats a transfer when the link was lost in the middle of it. Each waits for a link.
func again(transfer func() error) (err error) {
	for range attempts {
		if err = transfer(); !errors.Is(err, channel.ErrInterrupted) {
			return err
		}
	}
	return err
}

// get is Get that a shard can't stall: pings keep its link alive while it sends nothing.
func (c *collector) get(ctx context.Context, l channel.Shard, path string, w io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(c.limit, func() {
		cancel(code.Errorf(code.ShardSilent, "nothing came of %s for %s", path, c.limit))
	})
	defer stall.Stop()
	err := l.Get(ctx, path, writerFunc(func(p []byte) (int, error) {
		n, err := w.Write(p)
		stall.Reset(c.limit)
		return n, err
	}))
	if err != nil && code.Of(context.Cause(ctx)) == code.ShardSilent {
		return context.Cause(ctx)
	}
	return err
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// bounded fails a write beyond its limit instead of growing without end.
type bounded struct {
	got   bytes.Buffer
	limit int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.got.Len()+len(p) > b.limit {
		return 0, fmt.Errorf("more than %d bytes", b.limit)
	}
	return b.got.Write(p)
}

// tarOverhead is what a tar stream of one file has besides it: headers, padding, the end mark and
// what a writer rounds up to.
const tarOverhead = 64 << 10

// tar1 writes a tar stream of one file.
func tar1(w io.Writer, name string, body []byte) error {
	t := tar.NewWriter(w)
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(body))}); err != nil {
		return err
	}
	if _, err := t.Write(body); err != nil {
		return err
	}
	return t.Close()
}

// untar1 reads the one regular file of a tar stream, up to limit bytes.
func untar1(r io.Reader, limit int64) ([]byte, error) {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if h.Size > limit {
			return nil, fmt.Errorf("%d bytes, over the limit of %d", h.Size, limit)
		}
		return io.ReadAll(t)
	}
}
