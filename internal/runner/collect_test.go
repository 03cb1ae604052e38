package runner

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/clock/clocktest"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
)

const results = "/run/berth/results/"

var hello = shardproto.Message{Type: shardproto.TypeHello, Protocol: shardproto.Format, MST: testVersion, Client: &client.Info{Name: "app"}}

func acquire(caseID string) shardproto.Message {
	k := key(caseID)
	return shardproto.Message{Type: shardproto.TypeAcquire, Key: &k}
}

func finished(caseID, path string) shardproto.Message {
	k := key(caseID)
	return shardproto.Message{Type: shardproto.TypeTrial, Key: &k, Status: shardproto.StatusCollected, Path: path}
}

// collect runs a collector of the cases a and b against a script. It must be called in a bubble.
func collect(t *testing.T, s *scripted, change func(*Run)) (*collector, *recorder, error) {
	t.Helper()
	saved := &recorder{}
	r := &Run{
		Image: "i", Recorder: saved, Bundles: []shardproto.Bundle{bundle(0, 1, "a", "b")},
		ServerToken: func(context.Context, string) (shardproto.Token, error) {
			return shardproto.Token{AccessToken: "x"}, nil
		},
	}
	if change != nil {
		change(r)
	}
	log := newProgress(nil, nil)
	c := newCollector(newShard(&common{Run: r, log: log, stops: newStops(log), places: newQuota(r.Limits)}, &r.Bundles[0]))
	err := c.run(t.Context(), s)
	c.settle(err)
	return c, saved, err
}

// TestHostileWorker: whatever a worker says that it mustn't ends its shard; nothing of it is taken
// for another's, and nothing twice.
func TestHostileWorker(t *testing.T) {
	good := resultFile(key("a"), nil)
	huge := bytes.Repeat([]byte("x"), 1<<20)
	tests := map[string]struct {
		says []shardproto.Message
		file []byte // at 0/0.json; nil for a good one of case a
		get  func(context.Context, string, io.Writer) error
		want code.Code
		text string
	}{
		"hello of another version":  {[]shardproto.Message{{Type: shardproto.TypeHello, Protocol: shardproto.Format, MST: "9"}}, nil, nil, code.WorkerMismatch, `version "9"`},
		"hello of another protocol": {[]shardproto.Message{{Type: shardproto.TypeHello, Protocol: "mst.shard/v2", MST: testVersion}}, nil, nil, code.WorkerMismatch, `"mst.shard/v2"`},
		"no hello":                  {[]shardproto.Message{acquire("a")}, nil, nil, code.WorkerMismatch, `said "acquire" before hello`},
		"acquire without a key":     {[]shardproto.Message{hello, {Type: shardproto.TypeAcquire}}, nil, nil, code.ShardLost, "isn't its own"},
		"acquire another's":         {[]shardproto.Message{hello, acquire("z")}, nil, nil, code.ShardLost, "isn't its own"},
		"acquire twice":             {[]shardproto.Message{hello, acquire("a"), acquire("a")}, nil, nil, code.ShardLost, "or twice"},
		"trial without a key":       {[]shardproto.Message{hello, {Type: shardproto.TypeTrial}}, nil, nil, code.ShardLost, "isn't its own"},
		"trial of another":          {[]shardproto.Message{hello, finished("z", "0/0.json")}, nil, nil, code.ShardLost, "isn't its own"},
		"trial twice":               {[]shardproto.Message{hello, finished("a", "0/0.json"), finished("a", "0/0.json")}, nil, nil, code.ShardLost, "or twice"},
		"token of another":          {[]shardproto.Message{hello, {Type: shardproto.TypeNeedTokens, Servers: []string{"crm"}}}, nil, nil, code.ShardLost, `token of "crm"`},
		"path upwards":              {[]shardproto.Message{hello, finished("a", "../../tokens/inference")}, nil, nil, code.ParseFailure, "has the path"},
		"path within":               {[]shardproto.Message{hello, finished("a", "0/../0/0.json")}, nil, nil, code.ParseFailure, "has the path"},
		"path absolute":             {[]shardproto.Message{hello, finished("a", "/etc/passwd")}, nil, nil, code.ParseFailure, "has the path"},
		"path of the folder":        {[]shardproto.Message{hello, finished("a", ".")}, nil, nil, code.ParseFailure, "has the path"},
		"no path":                   {[]shardproto.Message{hello, finished("a", "")}, nil, nil, code.ParseFailure, "has the path"},
		"result of another":         {[]shardproto.Message{hello, finished("a", "0/0.json")}, resultFile(key("b"), nil), nil, code.ParseFailure, `for "b"`},
		"result of another kind":    {[]shardproto.Message{hello, finished("a", "0/0.json")}, resultFile(key("a"), func(f *shardproto.ResultFile) { f.Kind = "trial" }), nil, code.ParseFailure, `"trial"`},
		"result no JSON":            {[]shardproto.Message{hello, finished("a", "0/0.json")}, tarOf(tar.TypeReg, "x", []byte("{")), nil, code.ParseFailure, "result of a"},
		"result a link":             {[]shardproto.Message{hello, finished("a", "0/0.json")}, tarOf(tar.TypeSymlink, "x", nil), nil, code.ParseFailure, "unexpected EOF"},
		"result no tar":             {[]shardproto.Message{hello, finished("a", "0/0.json")}, bytes.Repeat([]byte("x"), 2048), nil, code.ParseFailure, "result of a"},
		"result without end": {[]shardproto.Message{hello, finished("a", "0/0.json")}, nil, func(_ context.Context, _ string, w io.Writer) error {
			for {
				if _, err := w.Write(huge); err != nil {
					return err
				}
			}
		}, "", "more than 67174400 bytes"},
		"no place for results": {[]shardproto.Message{hello, {Type: shardproto.TypeDone, Cleanup: shardproto.CleanupFailed, Reason: "no space left"}}, nil, nil, code.Missing, "2 of its trials never came: no space left"},
		"done too early":       {[]shardproto.Message{hello, finished("a", "0/0.json"), {Type: shardproto.TypeDone, Collected: 1, Cancelled: 1}}, nil, nil, code.Missing, "1 of its trials never came"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(tt.says...)
				s.files[results+"0/0.json"] = good
				if tt.file != nil {
					s.files[results+"0/0.json"] = tt.file
				}
				s.get = tt.get
				c, saved, err := collect(t, s, nil)
				if code.Of(err) != tt.want || err == nil || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("got %v, want %s with %q", err, tt.want, tt.text)
				}
				codetest.Saw(t, code.Of(err))
				for k := range saved.trials {
					if k.CaseID != "a" {
						t.Errorf("recorded %v", k)
					}
				}
				if len(saved.twice) != 0 || len(saved.trials)+len(c.out.Missing) != 2 {
					t.Errorf("recorded %v, twice %v, missing %v", saved.trials, saved.twice, c.out.Missing)
				}
			})
		})
	}
}

// TestUnknownMessage: a newer worker may say more.
func TestUnknownMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(hello, shardproto.Message{Type: "weather"}, finished("a", "a"), finished("b", "b"), shardproto.Message{Type: shardproto.TypeDone, Cleanup: "ok"})
		s.files[results+"a"], s.files[results+"b"] = resultFile(key("a"), nil), resultFile(key("b"), nil)
		if c, _, err := collect(t, s, nil); err != nil || c.out.Finished != 2 {
			t.Errorf("%v after %d trials", err, c.out.Finished)
		}
	})
}

func TestSilence(t *testing.T) {
	tests := map[string]struct {
		limit time.Duration
		every time.Duration // heartbeats, for ten minutes
		want  time.Duration
	}{
		"never a word":      {0, 0, time.Minute},
		"of another length": {time.Second, 0, time.Second},
		"after heartbeats":  {0, 15 * time.Second, 11 * time.Minute},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, start := newScripted(hello, acquire("a")), time.Now()
				if tt.every > 0 {
					go func() {
						for time.Since(start) < 10*time.Minute {
							time.Sleep(tt.every)
							s.says <- shardproto.Message{Type: shardproto.TypeHeartbeat}
						}
					}()
				}
				c, saved, err := collect(t, s, func(r *Run) { r.Options.Silence = tt.limit })
				if code.Of(err) != code.ShardSilent || time.Since(start) != tt.want {
					t.Errorf("%v after %s, want %s", err, time.Since(start), tt.want)
				}
				// a was granted, b never asked for.
				if cut := saved.trials[key("a")]; cut.FailureCode != code.ShardSilent || !cut.Infrastructure || !cut.Submitted || len(c.out.Missing) != 1 {
					t.Errorf("recorded %+v, missing %v", saved.trials, c.out.Missing)
				}
			})
		})
	}
}

// TestOverdue: a trial hangs in a worker whose heart beats on.
func TestOverdue(t *testing.T) {
	for options, want := range map[string]time.Duration{"": 10 * time.Minute, `{"timeout": 60000}`: 6 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s, start := newScripted(hello, acquire("a")), time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for beat := time.NewTicker(15 * time.Second); ; {
					select {
					case <-beat.C:
						s.says <- shardproto.Message{Type: shardproto.TypeHeartbeat}
					case <-ctx.Done():
						return
					}
				}
			}()
			c, saved, err := collect(t, s, func(r *Run) { r.Bundles[0].Batches[0].Requests[0].Config.Options = []byte(options) })
			if code.Of(err) != code.ShardSilent || time.Since(start) != want+15*time.Second {
				t.Errorf("%s: %v after %s, want %s", options, err, time.Since(start), want)
			}
			if cut := saved.trials[key("a")]; cut.FailureCode != code.ShardSilent || !cut.Infrastructure || len(c.out.Missing) != 1 {
				t.Errorf("recorded %+v, missing %v", saved.trials, c.out.Missing)
			}
		})
	}
}

// TestOverdueClockSet: a trial's time is what passes, whatever the clock is set to meanwhile.
func TestOverdueClockSet(t *testing.T) {
	const day = 24 * time.Hour
	for _, by := range []time.Duration{day, -day} {
		for passed, overdue := range map[time.Duration]bool{time.Minute: false, 11 * time.Minute: true} {
			c := newCollector(newShard(&common{Run: &Run{}}, &shardproto.Bundle{}))
			c.turns.running = map[shardproto.Key]running{key("a"): {since: time.Now()}}
			if err := c.overdue(clocktest.Set(time.Now().Add(passed), by)); (code.Of(err) == code.ShardSilent) != overdue {
				t.Errorf("set by %v, after %v: %v", by, passed, err)
			}
		}
	}
}

// TestSlowResult: a result that takes longer than the silence limit to come, and comes, is no silence.
func TestSlowResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(hello, finished("a", "a"), finished("b", "b"), shardproto.Message{Type: shardproto.TypeDone, Cleanup: "ok"})
		s.get = func(ctx context.Context, path string, w io.Writer) error {
			if strings.HasSuffix(path, "evidence") {
				return nil
			}
			for b := range bytes.SplitAfterSeq(resultFile(key(path[len(path)-1:]), nil), []byte("}")) {
				time.Sleep(50 * time.Second)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if _, err := w.Write(b); err != nil {
					return err
				}
			}
			return nil
		}
		if c, _, err := collect(t, s, nil); err != nil || c.out.Finished != 2 {
			t.Errorf("%v after %d trials", err, c.out.Finished)
		}
	})
}

// TestStalls: a worker that stops in the middle of what it sends or takes, while its link is alive.
func TestStalls(t *testing.T) {
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, s := range map[string]*scripted{
		"result": {get: func(ctx context.Context, _ string, w io.Writer) error { _, _ = w.Write([]byte("x")); return wait(ctx) }},
		"grant":  {send: func(ctx context.Context, _ shardproto.Message) error { return wait(ctx) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				says := newScripted(hello, acquire("a"))
				if s.get != nil {
					says = newScripted(hello, finished("a", "a"))
				}
				s.says = says.says
				start := time.Now()
				_, _, err := collect(t, s, nil)
				if code.Of(err) != code.ShardSilent || time.Since(start) != time.Minute {
					t.Errorf("%v after %s", err, time.Since(start))
				}
			})
		})
	}
	t.Run("evidence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScripted(hello, finished("a", "a"), finished("b", "b"), shardproto.Message{Type: shardproto.TypeDone, Cleanup: "ok"})
			s.get = func(ctx context.Context, path string, w io.Writer) error {
				if strings.HasSuffix(path, "evidence") {
					return wait(ctx)
				}
				_, err := w.Write(resultFile(key(path[len(path)-1:]), nil))
				return err
			}
			if _, _, err := collect(t, s, nil); err != nil { // evidence changes no outcome
				t.Error(err)
			}
		})
	})
}

// TestGrace: a worker that doesn't heed a cancel is given up after 30 s.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, start := newScripted(hello, acquire("a")), time.Now()
		go func() {
			for time.Since(start) < time.Minute {
				time.Sleep(10 * time.Second)
				s.says <- shardproto.Message{Type: shardproto.TypeHeartbeat}
			}
		}()
		drain := make(chan struct{})
		time.AfterFunc(5*time.Second, func() { close(drain) })
		c, saved, err := collect(t, s, func(r *Run) { r.Drain = drain })
		if code.Of(err) != code.Cancelled || time.Since(start) != 35*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		if m := <-s.heard; m.Type != shardproto.TypeGranted {
			t.Errorf("heard %+v", m)
		}
		if m := <-s.heard; m.Type != shardproto.TypeCancel || m.Reason != "interrupted" {
			t.Errorf("heard %+v", m)
		}
		if saved.trials[key("a")].FailureCode != code.Cancelled || len(c.out.Missing) != 1 {
			t.Errorf("recorded %+v, missing %v", saved.trials, c.out.Missing)
		}
		time.Sleep(time.Minute) // the worker's heartbeats end within the bubble
	})
}

// TestWaitingIsNotRunning: a trial that asked for a place and got none wasn't sent, so it is missing and
// not lost; the place that another shard holds comes back to that one only.
func TestWaitingIsNotRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(hello, acquire("a"))
		c, saved, err := collect(t, s, func(r *Run) { r.Limits = map[string]int{"provider:openai": 0} })
		if code.Of(err) != code.ShardSilent || len(saved.trials) != 0 || len(c.out.Missing) != 2 || len(s.heard) != 0 {
			t.Errorf("%v; recorded %v, missing %v", err, saved.trials, c.out.Missing)
		}
	})
}

// TestPlacesComeBack: however a shard ends, and whatever it asked for.
func TestPlacesComeBack(t *testing.T) {
	for name, says := range map[string][]shardproto.Message{
		"silence":  {hello, acquire("a"), acquire("b")},
		"protocol": {hello, acquire("a"), acquire("a")},
		"result":   {hello, acquire("a"), finished("a", "a"), acquire("b"), finished("b", "b"), {Type: shardproto.TypeDone, Cleanup: "ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(says...)
				s.files[results+"a"], s.files[results+"b"] = resultFile(key("a"), nil), resultFile(key("b"), nil)
				c, _, _ := collect(t, s, func(r *Run) { r.Limits = map[string]int{"provider:openai": 1} })
				if free := c.places.free["provider:openai"]; free != 1 {
					t.Errorf("%d places afterwards, want 1", free)
				}
			})
		})
	}
}

func TestServerTokens(t *testing.T) {
	none := errors.New("no such token")
	tests := map[string]struct {
		reason string
		want   code.Code
	}{
		"at the start": {shardproto.ReasonStart, code.MCPPreflightFailed},
		"expiring":     {shardproto.ReasonExpiring, code.ShardSilent}, // it goes on, and the script says no more
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(hello, shardproto.Message{Type: shardproto.TypeNeedTokens, Servers: []string{"wiki"}, Reason: tt.reason})
				_, _, err := collect(t, s, func(r *Run) {
					r.Bundles[0].TokenServers = []string{"wiki"}
					r.ServerToken = func(context.Context, string) (shardproto.Token, error) { return shardproto.Token{}, none }
				})
				if code.Of(err) != tt.want {
					t.Errorf("got %v, want %s", err, tt.want)
				}
			})
		})
	}
}

func TestLinkGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(hello, acquire("a"))
		s.err = channel.ErrLost
		close(s.says)
		_, _, err := collect(t, s, nil)
		if code.Of(err) != code.ShardLost || !errors.Is(err, channel.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
}

// TestDrainDuringSelfCheck: an engine that hangs in set-up doesn't hold up an interrupt.
func TestDrainDuringSelfCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		interrupt := errors.New("interrupted")
		time.AfterFunc(time.Hour, func() { cancel(interrupt) })
		r := &Run{Bundles: []shardproto.Bundle{bundle(0, 1, "a")}}
		s := newShard(&common{Run: r, log: newProgress(nil, nil)}, &r.Bundles[0])
		err := reason(ctx, s.setUp(ctx, unreachable{}))
		if code.Of(err) != code.Cancelled || !errors.Is(err, interrupt) {
			t.Errorf("got %v", err)
		}
	})
}
