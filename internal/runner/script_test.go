package runner

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
)

// scripted is a worker's end that says and sends what a test wants, the other side of a collector.
type scripted struct {
	channel.Shard // nil: what a test doesn't expect panics
	says          chan shardproto.Message
	heard         chan shardproto.Message
	files         map[string][]byte // tar streams by path
	get           func(ctx context.Context, path string, w io.Writer) error
	send          func(ctx context.Context, m shardproto.Message) error
	err           error
}

func newScripted(says ...shardproto.Message) *scripted {
	s := &scripted{says: make(chan shardproto.Message, 64), heard: make(chan shardproto.Message, 64), files: map[string][]byte{}}
	for _, m := range says {
		s.says <- m
	}
	return s
}

func (s *scripted) Messages() <-chan shardproto.Message { return s.says }
func (s *scripted) Collect(context.Context) error       { return nil }
func (s *scripted) Err() error                          { return s.err }

func (s *scripted) Send(ctx context.Context, m shardproto.Message) error {
	if s.send != nil {
		return s.send(ctx, m)
	}
	s.heard <- m
	return nil
}

func (s *scripted) Get(ctx context.Context, path string, w io.Writer) error {
	if s.get != nil {
		return s.get(ctx, path, w)
	}
	_, err := w.Write(s.files[path])
	return err
}

// keepListener notes what a worker is told at the end.
type keepListener struct {
	channel.Shard
	told, ended bool
}

func (k *keepListener) Keep(context.Context) error     { k.told = true; return nil }
func (k *keepListener) Shutdown(context.Context) error { k.ended = true; return nil }

// unreachable is a worker that answers nothing, as when the engine hangs.
type unreachable struct{ channel.Shard }

func (unreachable) SelfCheck(ctx context.Context, _ selfcheck.Expect) (selfcheck.Report, error) {
	<-ctx.Done()
	return selfcheck.Report{}, ctx.Err()
}
func (unreachable) Tunnel() net.Listener { return nil }

func resultFile(k shardproto.Key, change func(*shardproto.ResultFile)) []byte {
	f := shardproto.ResultFile{Format: shardproto.Format, Kind: shardproto.KindResult, Key: k, Result: client.Result{Submitted: true}}
	if change != nil {
		change(&f)
	}
	body, _ := json.Marshal(f)
	return tarOf(tar.TypeReg, "0.json", body)
}

func tarOf(kind byte, name string, body []byte) []byte {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	h := &tar.Header{Typeflag: kind, Name: name, Mode: 0o600, Size: int64(len(body))}
	if kind == tar.TypeSymlink {
		h.Linkname, h.Size, body = "/etc/passwd", 0, nil
	}
	_ = w.WriteHeader(h)
	_, _ = w.Write(body)
	_ = w.Close()
	return buf.Bytes()
}
