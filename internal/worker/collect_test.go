package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/session/client"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// ended are the clean-ups of batches that ended well, in whatever time.
func ended(variants ...string) (all []shardproto.Cleanup) {
	for _, v := range variants {
		all = append(all, shardproto.Cleanup{Variant: v, Status: client.Completed})
	}
	return all
}

var anyTime = cmpopts.IgnoreFields(shardproto.Cleanup{}, "DurationMs")

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
		{Type: "done", Collected: 3, Cleanup: "ok", Cleanups: ended("a", "b")},
	}
	if diff := cmp.Diff(want, b.follow(), anyTime); diff != "" {
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
				{Type: "done", Collected: 1, Infra: 2, Cleanup: "ok", Cleanups: ended("good")},
			}
			if diff := cmp.Diff(want, got, anyTime); diff != "" {
				t.Errorf("messages (-want +got)\n%s", diff)
			}
			if r := b.result("0/1.json").Result; r.FailureCode != tt.want || !r.Infrastructure || r.Submitted || r.Error == "" || strings.HasPrefix(r.Error, string(tt.want)) {
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
			{Type: "done", Infra: 1, Cancelled: 2, Cleanup: "ok", Cleanups: ended("a")},
		}
		if diff := cmp.Diff(want, b.follow(), anyTime); diff != "" {
			t.Errorf("messages (-want +got)\n%s", diff)
		}
		if r := b.result("0/0.json").Result; r.FailureCode != code.Cancelled || r.Error != "interrupted" {
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
	m := all[len(all)-1]
	if m.Cleanup != shardproto.CleanupFailed || m.Collected != 1 || len(m.Cleanups) != 1 || m.Cleanups[0].Variant != "a" || m.Cleanups[0].Status != client.Failed {
		t.Errorf("%+v; want a failed clean-up", m)
	}
}

// An agent can take the worker's own folder away; the done message says why a result is missing.
func TestResultNotWritten(t *testing.T) {
	f := &fake{}
	b := start(t, f, nil)
	f.run = func(context.Context, client.Trial) client.Result {
		dir := filepath.Join(b.dir, "results")
		if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
			t.Error(err)
		}
		return client.Result{Submitted: true}
	}
	b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one")}})
	all := b.follow()
	if m := all[len(all)-1]; m.Cleanup != shardproto.CleanupFailed || m.Collected != 0 || !strings.Contains(m.Reason, "not a directory") {
		t.Errorf("%+v; want the reason that no result was written", m)
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
