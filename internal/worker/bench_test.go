package worker

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/oci"
	"github.com/berth-run/berth/session/client"
)

// bench is a Worker in a temporary folder with a coordinator attached.
type bench struct {
	*Worker
	t   *testing.T
	c   *channel.Client
	dir string
}

func start(t *testing.T, f *fake, change func(*Options)) *bench {
	t.Helper()
	dir := t.TempDir()
	o := Options{
		RunDir: filepath.Join(dir, "run"), Home: dir, Tmp: dir, TunnelAddr: "127.0.0.1:0", Image: "sha256:x",
		Clients: func(name string) (client.Client, error) {
			if name != "fake" {
				return nil, code.Errorf(code.EnvironmentInvalid, "%w", errNoClient)
			}
			return f, nil
		},
	}
	if change != nil {
		change(&o)
	}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	b := &bench{Worker: w, t: t, dir: o.RunDir}
	b.c, err = channel.Dial(t.Context(), b.open, channel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.c.Close() })
	return b
}

// stdio is an exec's, as an engine would give it.
type stdio struct {
	io.Reader
	io.WriteCloser
	close func()
}

func (s stdio) Close() error { s.close(); return s.WriteCloser.Close() }

func (b *bench) open(context.Context) (io.ReadWriteCloser, error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		outW.CloseWithError(b.Channel(ctx, inR, outW))
		inR.Close()
	}()
	return stdio{outR, inW, func() { cancel(); outR.Close() }}, nil
}

// put hands a bundle over; collect starts it too.
func (b *bench) put(bundle shardproto.Bundle) {
	b.t.Helper()
	bundle.Format, bundle.Kind = shardproto.Format, shardproto.KindBundle
	raw, err := json.Marshal(bundle)
	if err != nil {
		b.t.Fatal(err)
	}
	var stream bytes.Buffer
	w := tar.NewWriter(&stream)
	err = errors.Join(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: shardproto.BundleFile, Mode: 0o600, Size: int64(len(raw))}))
	if _, werr := w.Write(raw); errors.Join(err, werr, w.Close()) != nil {
		b.t.Fatal(err, werr)
	}
	if err := b.c.Put(b.t.Context(), oci.RunDir+"/bundle", &stream); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) collect(bundle shardproto.Bundle) {
	b.t.Helper()
	b.put(bundle)
	if err := b.c.Collect(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// next is the worker's next message, of which a heartbeat is none.
func (b *bench) next() shardproto.Message {
	b.t.Helper()
	for m := range b.c.Messages() {
		if m.Type != shardproto.TypeHeartbeat {
			return m
		}
	}
	b.t.Fatalf("the link has ended: %v", b.c.Err())
	return shardproto.Message{}
}

func (b *bench) send(m shardproto.Message) {
	b.t.Helper()
	if err := b.c.Send(b.t.Context(), m); err != nil {
		b.t.Fatal(err)
	}
}

// follow grants whatever is asked for and gives all messages up to done.
func (b *bench) follow() []shardproto.Message {
	b.t.Helper()
	var all []shardproto.Message
	for {
		m := b.next()
		all = append(all, m)
		switch m.Type {
		case shardproto.TypeAcquire:
			b.send(shardproto.Message{Type: shardproto.TypeGranted, Key: m.Key})
		case shardproto.TypeDone:
			return all
		}
	}
}

func (b *bench) result(path string) shardproto.ResultFile {
	b.t.Helper()
	var f shardproto.ResultFile
	raw, err := os.ReadFile(filepath.Join(b.dir, "results", path))
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

func batch(variant string, prompts ...string) shardproto.Batch {
	b := shardproto.Batch{Variant: variant}
	for i, p := range prompts {
		b.Requests = append(b.Requests, shardproto.Request{
			CaseID: "case-" + p, Trial: i, Config: shardproto.Config{Type: "fake", Model: "m-" + variant}, Input: shardproto.Input{Prompt: p},
		})
	}
	return b
}

func key(variant, prompt string, trial int) *shardproto.Key {
	return &shardproto.Key{Variant: variant, CaseID: "case-" + prompt, Trial: trial}
}
