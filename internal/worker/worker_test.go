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
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/oci"
	"github.com/berth-run/berth/session/client"
	"github.com/google/go-cmp/cmp"
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

func TestCollect(t *testing.T) {
	f := &fake{}
	b := start(t, f, nil)
	b.collect(shardproto.Bundle{
		Batches:   []shardproto.Batch{batch("a", "one", "two"), batch("b", "three")},
		Inference: shardproto.Inference{Mode: client.ModeGateway, BasePath: "/v1"},
	})
	want := []shardproto.Message{
		{Type: "hello", Protocol: "mst.shard/v1", MST: version.Version, Image: "sha256:x", Client: &client.Info{Name: "fake", Version: "7"}},
		{Type: "acquire", Key: key("a", "one", 0)},
		{Type: "trial", Key: key("a", "one", 0), Status: "collected", Path: "0/0.json"},
		{Type: "acquire", Key: key("a", "two", 1)},
		{Type: "trial", Key: key("a", "two", 1), Status: "collected", Path: "0/1.json"},
		{Type: "acquire", Key: key("b", "three", 0)},
		{Type: "trial", Key: key("b", "three", 0), Status: "collected", Path: "1/0.json"},
		{Type: "done", Collected: 3, Cleanup: "ok"},
	}
	if diff := cmp.Diff(want, b.follow()); diff != "" {
		t.Errorf("messages (-want +got)\n%s", diff)
	}
	got := b.result("0/1.json")
	if got.Format != shardproto.Format || got.Kind != shardproto.KindResult || got.Key != *key("a", "two", 1) || !got.Result.Submitted {
		t.Errorf("result file %+v", got)
	}
	if ready, _ := got.Result.Metadata["nativeReadiness"].(map[string]any); ready["inference"] != client.ModeGateway {
		t.Errorf("nativeReadiness = %v", got.Result.Metadata)
	}
	if f.closed != 2 || len(f.batches) != 2 {
		t.Fatalf("%d batches opened, %d closed; want 2", len(f.batches), f.closed)
	}
	first := f.batches[0]
	if first.Model != "m-a" || first.Inference.BaseURL != "http://"+b.server.TunnelAddr()+"/v1" ||
		first.Inference.TokenFile != filepath.Join(b.dir, "tokens", "inference") || first.EvidenceDir != filepath.Join(b.dir, "results", "evidence", "0") {
		t.Errorf("first batch %+v", first)
	}
	if info, err := os.Stat(first.EvidenceDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("evidence folder %v, %v; want 0700", info, err)
	}
}

// TestCollectTwice: a Collect that is asked for again, because its answer was lost, starts nothing.
func TestCollectTwice(t *testing.T) {
	f := &fake{}
	b := start(t, f, nil)
	bundle := shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one")}}
	b.collect(bundle)
	b.follow()
	if err := b.c.Collect(t.Context()); err != nil {
		t.Error(err)
	}
	b.put(shardproto.Bundle{RunID: "another"})
	if err := b.c.Collect(t.Context()); !errors.Is(err, channel.ErrInvalid) {
		t.Errorf("another bundle: %v, want ErrInvalid", err)
	}
	if len(f.prompts) != 1 {
		t.Errorf("prompts %q, want one", f.prompts)
	}
}

func TestBundlesThatAreRefused(t *testing.T) {
	for name, content := range map[string]string{"none": "", "no JSON": "{", "another format": `{"format":"mst.shard/v2","kind":"bundle"}`} {
		b := start(t, &fake{}, nil)
		if content != "" {
			if err := os.WriteFile(filepath.Join(b.dir, "bundle", shardproto.BundleFile), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.c.Collect(t.Context()); !errors.Is(err, channel.ErrInvalid) {
			t.Errorf("%s: Collect = %v, want ErrInvalid", name, err)
		}
	}
}

// TestOpenFails: every trial of the batch is an infrastructure failure with the code, none asks to
// be granted, and the next batch goes on.
func TestOpenFails(t *testing.T) {
	tests := map[string]struct {
		err    error
		client string
		want   code.Code
	}{
		"with a code": {code.Errorf(code.LoginFailed, "no"), "fake", code.LoginFailed},
		"without":     {errors.New("no"), "fake", code.ClientRunFailed},
		"no such app": {nil, "other", code.EnvironmentInvalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fake{openErr: tt.err}
			b := start(t, f, nil)
			broken := batch("broken", "one", "two")
			for i := range broken.Requests {
				broken.Requests[i].Config.Type = tt.client
			}
			b.collect(shardproto.Bundle{Batches: []shardproto.Batch{broken, batch("good", "three")}})
			got := b.follow()[1:]
			want := []shardproto.Message{
				{Type: "trial", Key: key("broken", "one", 0), Status: "infra", Path: "0/0.json"},
				{Type: "trial", Key: key("broken", "two", 1), Status: "infra", Path: "0/1.json"},
				{Type: "acquire", Key: key("good", "three", 0)},
				{Type: "trial", Key: key("good", "three", 0), Status: "collected", Path: "1/0.json"},
				{Type: "done", Collected: 1, Infra: 2, Cleanup: "ok"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("messages (-want +got)\n%s", diff)
			}
			if r := b.result("0/1.json").Result; r.FailureKind != tt.want || !r.Infrastructure || r.Submitted || r.Error == "" {
				t.Errorf("result %+v, want %s", r, tt.want)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	cancel := shardproto.Message{Type: shardproto.TypeCancel, Reason: "interrupted"}
	bundle := shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one", "two"), batch("b", "three")}}
	t.Run("during a trial", func(t *testing.T) {
		started := make(chan struct{})
		f := &fake{run: untilCancelled(started)}
		b := start(t, f, nil)
		b.collect(bundle)
		b.next() // hello
		b.send(shardproto.Message{Type: shardproto.TypeGranted, Key: b.next().Key})
		<-started
		b.send(cancel)
		want := []shardproto.Message{
			{Type: "trial", Key: key("a", "one", 0), Status: "infra", Path: "0/0.json"},
			{Type: "done", Infra: 1, Cancelled: 2, Cleanup: "ok"},
		}
		if diff := cmp.Diff(want, b.follow()); diff != "" {
			t.Errorf("messages (-want +got)\n%s", diff)
		}
		if r := b.result("0/0.json").Result; r.FailureKind != code.Cancelled || r.Error != "cancelled by the coordinator: interrupted" {
			t.Errorf("result %+v", r)
		}
		if f.closed != 1 {
			t.Errorf("%d batches closed, want 1", f.closed)
		}
	})
	t.Run("before a grant", func(t *testing.T) {
		f := &fake{}
		b := start(t, f, nil)
		b.collect(bundle)
		b.next() // hello
		b.next() // acquire
		b.send(cancel)
		if m := b.next(); m.Type != shardproto.TypeDone || m.Cancelled != 3 || f.prompts != nil {
			t.Errorf("%+v with prompts %q; want done with 3 cancelled", m, f.prompts)
		}
	})
	t.Run("during open", func(t *testing.T) {
		opening := make(chan struct{})
		f := &fake{opening: func(ctx context.Context) error { close(opening); <-ctx.Done(); return ctx.Err() }}
		b := start(t, f, nil)
		b.collect(bundle)
		b.next() // hello
		<-opening
		b.send(cancel)
		if m := b.next(); m.Type != shardproto.TypeDone || m.Cancelled != 3 {
			t.Errorf("%+v; want done with 3 cancelled", m)
		}
	})
	t.Run("while waiting for tokens", func(t *testing.T) {
		b := start(t, &fake{}, nil)
		with := bundle
		with.TokenServers = []string{"crm"}
		b.collect(with)
		b.next() // hello
		b.next() // need-tokens
		b.send(cancel)
		if m := b.next(); m.Type != shardproto.TypeDone || m.Cancelled != 3 {
			t.Errorf("%+v; want done with 3 cancelled", m)
		}
	})
}

func TestTokens(t *testing.T) {
	f := &fake{}
	b := start(t, f, nil)
	server := client.Server{Label: "inference", Transport: "http", URL: "http://x", TokenEnv: "X"}
	bt := batch("a", "one")
	bt.Requests[0].Input.Servers = []client.Server{server}
	b.collect(shardproto.Bundle{TokenServers: []string{"inference"}, Batches: []shardproto.Batch{bt}})
	b.next() // hello
	if m := b.next(); m.Type != shardproto.TypeNeedTokens || m.Reason != shardproto.ReasonStart || !cmp.Equal(m.Servers, []string{"inference"}) {
		t.Fatalf("%+v; want need-tokens for start", m)
	}
	tokens := func(value string, expires time.Time) {
		b.send(shardproto.Message{Type: shardproto.TypeTokens, ByServer: map[string]shardproto.Token{
			"inference": {AccessToken: value, ExpiresAt: expires.UTC().Format(time.RFC3339)},
		}})
	}
	tokens("first-secret-value", time.Now().Add(time.Minute)) // below the 2 minutes of TokenRenew
	got := map[string]shardproto.Message{}
	for range 2 { // in either order
		m := b.next()
		got[m.Type] = m
	}
	if m := got[shardproto.TypeNeedTokens]; m.Reason != shardproto.ReasonExpiring || !cmp.Equal(m.Servers, []string{"inference"}) {
		t.Fatalf("%+v; want need-tokens for expiring", got)
	}
	file := filepath.Join(b.dir, "tokens", "servers", "inference")
	if raw, err := os.ReadFile(file); string(raw) != "first-secret-value" || err != nil {
		t.Errorf("token file holds %q, %v", raw, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("token file %v, %v; want 0600", info, err)
	}
	b.send(shardproto.Message{Type: shardproto.TypeGranted, Key: got[shardproto.TypeAcquire].Key})
	b.follow()
	if f.batches[0].Servers[0].Token != "first-secret-value" {
		t.Errorf("the client got token %q", f.batches[0].Servers[0].Token)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the token file is there after the end: %v", err)
	}
}

func TestUncleanEnd(t *testing.T) {
	b := start(t, &fake{closeErr: errors.New("app doesn't stop")}, nil)
	b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one")}})
	all := b.follow()
	if m := all[len(all)-1]; m.Cleanup != shardproto.CleanupFailed || m.Collected != 1 {
		t.Errorf("%+v; want a failed clean-up", m)
	}
}

func TestHeartbeat(t *testing.T) {
	started := make(chan struct{})
	b := start(t, &fake{run: untilCancelled(started)}, func(o *Options) { o.Heartbeat = time.Millisecond })
	b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one")}})
	for m := range b.c.Messages() {
		if m.Type == shardproto.TypeHeartbeat {
			if _, err := time.Parse(time.RFC3339, m.At); err != nil {
				t.Error(err)
			}
			break
		}
	}
}

// TestTrialGoesOnWithoutLink: a link that is lost in the middle of a trial changes nothing.
func TestTrialGoesOnWithoutLink(t *testing.T) {
	started, finish := make(chan struct{}), make(chan struct{})
	f := &fake{run: func(context.Context, client.Trial) client.Result {
		close(started)
		<-finish
		return client.Result{Submitted: true}
	}}
	b := start(t, f, nil)
	b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one")}})
	b.next() // hello
	b.send(shardproto.Message{Type: shardproto.TypeGranted, Key: b.next().Key})
	<-started
	next, err := channel.Dial(t.Context(), b.open, channel.Options{}) // which fences off the first
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	close(finish)
	b.c = next
	if diff := cmp.Diff([]string{"trial", "done"}, types(b.follow())); diff != "" {
		t.Errorf("messages (-want +got)\n%s", diff)
	}
}

func types(all []shardproto.Message) []string {
	var list []string
	for _, m := range all {
		if m.Type == shardproto.TypeTrial || m.Type == shardproto.TypeDone {
			list = append(list, m.Type)
		}
	}
	return list
}

func TestShutdownEndsTheTrial(t *testing.T) {
	started := make(chan struct{})
	f := &fake{run: untilCancelled(started)}
	b := start(t, f, nil)
	b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one")}})
	b.next() // hello
	b.send(shardproto.Message{Type: shardproto.TypeGranted, Key: b.next().Key})
	<-started
	if err := b.c.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := b.Wait(); err != nil {
		t.Errorf("Wait = %v, want nil", err)
	}
	if f.closed != 1 {
		t.Error("the app wasn't closed")
	}
	if _, err := os.Stat(filepath.Join(b.dir, "tokens")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("tokens folder after the end: %v", err)
	}
}

func TestDeadMansSwitch(t *testing.T) {
	b := start(t, &fake{}, func(o *Options) {
		o.Deadman = 200 * time.Millisecond
	})
	b.c.Close()
	if err := b.Wait(); !errors.Is(err, ErrSilent) {
		t.Errorf("Wait = %v, want ErrSilent", err)
	}
}

// TestPingsHoldTheDeadMansSwitch: an attached coordinator that has nothing to say isn't silent.
func TestPingsHoldTheDeadMansSwitch(t *testing.T) {
	b := start(t, &fake{}, func(o *Options) { o.Deadman = time.Second })
	c, err := channel.Dial(t.Context(), b.open, channel.Options{Timing: channel.Timing{KeepAlive: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	select {
	case <-b.ctx.Done():
		t.Errorf("ended: %v", context.Cause(b.ctx))
	case <-time.After(1500 * time.Millisecond): // what is awaited is that nothing happens
	}
}

func TestKeepTurnsTheDeadMansSwitchOff(t *testing.T) {
	b := start(t, &fake{}, func(o *Options) { o.Deadman = 300 * time.Millisecond })
	if err := b.c.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.c.Close()
	select {
	case <-b.ctx.Done():
		t.Errorf("ended: %v", context.Cause(b.ctx))
	case <-time.After(600 * time.Millisecond): // what is awaited is that nothing happens
	}
}

func TestOOMKill(t *testing.T) {
	events := filepath.Join(t.TempDir(), "memory.events")
	write := func(n string) {
		if err := os.WriteFile(events, []byte("low 0\noom 3\noom_kill "+n+"\noom_group_kill 0\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	saved := memoryEvents
	memoryEvents = []string{filepath.Join(t.TempDir(), "absent"), events}
	t.Cleanup(func() { memoryEvents = saved })
	tests := map[string]struct {
		kills string
		in    client.Result
		kind  code.Code
		infra bool
		note  any
	}{
		"none":           {"1", client.Result{FailureKind: code.AppExited}, code.AppExited, false, nil},
		"failed by it":   {"2", client.Result{FailureKind: code.AppExited, Error: "gone"}, code.OOMKilled, true, 1},
		"in spite of it": {"3", client.Result{}, "", false, 2},
		"cancelled":      {"2", client.Result{FailureKind: code.Cancelled, Infrastructure: true}, code.Cancelled, true, 1},
	}
	for name, tt := range tests {
		write("1")
		got := (*collection)(nil).watchMemory(func() client.Result { write(tt.kills); return tt.in })
		if got.FailureKind != tt.kind || got.Infrastructure != tt.infra || got.Metadata["oomKills"] != tt.note {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
