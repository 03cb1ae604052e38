package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/shardtest"
	"github.com/berth-run/berth/session/client"
)

const token = "secret-inference-token"

// rig is a run on a fake engine with real workers, ready to go.
type rig struct {
	*Run
	engine *shardtest.Engine
	saved  *recorder
	log    *shardtest.Buffer
}

// newRig has a bundle a shard, each with one batch of the cases named for it.
func newRig(t *testing.T, o shardtest.Options, shards ...[]string) *rig {
	t.Helper()
	e := shardtest.New(t, o)
	r := &rig{engine: e, saved: &recorder{}, log: &shardtest.Buffer{}}
	options, err := ParseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	secrets := &redact.Set{}
	secrets.Add(token)
	r.Run = &Run{
		ID: "20260102T030405Z-abcdef", Backend: e, Image: shardtest.Image, Network: backends.NetworkNone, Options: options,
		Labels:   func(i int) map[string]string { return map[string]string{"shard": fmt.Sprint(i)} },
		Recorder: r.saved, Progress: r.log, Secrets: secrets,
		ServerToken: func(_ context.Context, label string) (shardproto.Token, error) {
			return shardproto.Token{AccessToken: "token-of-" + label}, nil
		},
		Inference: Inference{
			Mode: client.ModeGateway, Probe: "/v1/models", Models: []string{"m"},
			Handler: func(int) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
					if q.Header.Get("Authorization") != "Bearer "+token {
						w.WriteHeader(http.StatusUnauthorized)
						return
					}
					io.WriteString(w, `{"object":"list","data":[{"id":"m"}]}`)
				})
			},
			Provide: func(ctx context.Context, _ int, write func(context.Context, []byte) error, _ func(error)) error {
				return write(ctx, []byte(token))
			},
		},
	}
	for i, cases := range shards {
		r.Bundles = append(r.Bundles, bundle(i, len(shards), cases...))
	}
	checkLeaks(t)
	return r
}

func bundle(index, count int, cases ...string) shardproto.Bundle {
	b := shardproto.Bundle{
		Format: shardproto.Format, Kind: shardproto.KindBundle, MST: testVersion,
		Shard: shardproto.Shard{Index: index, Count: count}, Plugins: []string{}, TokenServers: []string{},
		Batches:   []shardproto.Batch{{Variant: "v"}},
		Inference: shardproto.Inference{Mode: client.ModeGateway, BasePath: "/v1"},
	}
	for _, c := range cases {
		b.Batches[0].Requests = append(b.Batches[0].Requests, shardproto.Request{
			CaseID: c, Config: shardproto.Config{Type: "test", Model: "m"}, Input: shardproto.Input{Prompt: "prompt " + c, Servers: []client.Server{}},
		})
	}
	return b
}

func key(caseID string) shardproto.Key { return shardproto.Key{Variant: "v", CaseID: caseID} }

// left fails the test when the engine still has a shard.
func (r *rig) left(t *testing.T) {
	t.Helper()
	list, err := r.engine.List(context.Background(), nil)
	if err != nil || len(list) != 0 {
		t.Errorf("on the engine afterwards: %v, %v", list, err)
	}
}

// recorder keeps what came back, and fails when a test says so.
type recorder struct {
	mu       sync.Mutex
	fail     error
	trials   map[shardproto.Key]client.Result
	twice    []shardproto.Key
	evidence map[int]int // bytes by shard
	cleanups map[shardproto.Key]string
}

func (r *recorder) Trial(k shardproto.Key, res client.Result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return r.fail
	}
	if r.trials == nil {
		r.trials = map[shardproto.Key]client.Result{}
	}
	if _, had := r.trials[k]; had {
		r.twice = append(r.twice, k)
	}
	r.trials[k] = res
	return nil
}

func (r *recorder) CleanedUp(keys []shardproto.Key, c shardproto.Cleanup) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cleanups == nil {
		r.cleanups = map[shardproto.Key]string{}
	}
	for _, k := range keys {
		r.cleanups[k] = c.Status
	}
	return r.fail
}

func (r *recorder) Evidence(shard int, tar io.Reader) error {
	n, err := io.Copy(io.Discard, tar)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.evidence == nil {
		r.evidence = map[int]int{}
	}
	r.evidence[shard] += int(n)
	return err
}

func (r *recorder) kinds() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]string{}
	for k, res := range r.trials {
		out[k.CaseID] = string(res.FailureCode)
	}
	return out
}

// checkLeaks fails the test when it leaves goroutines behind: those of this module count.
func checkLeaks(t *testing.T) {
	before := ours()
	t.Cleanup(func() {
		var now int
		for late := time.Now().Add(time.Minute); time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
			if now = ours(); now <= before { // goroutines end by themselves once told, when they get to it
				return
			}
		}
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines of ours before, %d afterwards:\n%s", before, now, buf[:runtime.Stack(buf, true)])
	})
}

func ours() int {
	buf := make([]byte, 4<<20)
	n := 0
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "berth-run/berth") && !strings.Contains(g, "testing.tRunner") {
			n++
		}
	}
	return n
}

// decorated is a backend whose shards go through a decorator.
type decorated struct {
	backends.Backend
	shard func(backends.Shard) backends.Shard
}

func (d decorated) Create(ctx context.Context, c backends.Config) (backends.Shard, error) {
	s, err := d.Backend.Create(ctx, c)
	if err != nil {
		return nil, err
	}
	return d.shard(s), nil
}

// oomShard is one whose end is the memory limit's doing.
type oomShard struct{ backends.Shard }

func (s oomShard) Wait(ctx context.Context) (backends.ExitStatus, error) {
	st, err := s.Shard.Wait(ctx)
	st.OOMKilled = true
	return st, err
}

var errStuck = errors.New("device or resource busy")

// stuckShard can't be removed.
type stuckShard struct{ backends.Shard }

func (s stuckShard) Remove(context.Context) error { return errStuck }

// removalWatch tells of the first removal of a shard.
type removalWatch struct {
	backends.Shard
	removed chan struct{}
}

func (s *removalWatch) Remove(ctx context.Context) error {
	err := s.Shard.Remove(ctx)
	select {
	case <-s.removed:
	default:
		close(s.removed)
	}
	return err
}
