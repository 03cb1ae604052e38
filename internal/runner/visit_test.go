package runner

import (
	"context"
	"errors"
	"testing"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/shardtest"
)

// TestVisit: a shard with no trial is proved, used, and gone, however that went.
func TestVisit(t *testing.T) {
	failed := errors.New("it failed")
	for name, want := range map[string]error{"well": nil, "not well": failed} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shardtest.Options{})
			used := false
			out := r.Visit(t.Context(), func(ctx context.Context, l channel.Shard) error {
				used = l.Err() == nil
				return errors.Join(want, ctx.Err())
			})
			if (out.Err != nil) != (want != nil) || want != nil && !errors.Is(out.Err, want) || out.Left != nil || !out.Started || !used {
				t.Errorf("%+v (used %v)", out, used)
			}
			r.left(t)
		})
	}
}

// TestVisitInterrupted: an interrupt ends it at once.
func TestVisitInterrupted(t *testing.T) {
	r := newRig(t, shardtest.Options{})
	drain := make(chan struct{})
	r.Drain = drain
	out := r.Visit(t.Context(), func(ctx context.Context, _ channel.Shard) error {
		close(drain)
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(out.Err, errVisitCut) {
		t.Errorf("%v", out.Err)
	}
	r.left(t)
}

// TestOptionsProfile: a warm profile needs its state, and state is for a warm one.
func TestOptionsProfile(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		options []string
		ok      bool
	}{
		"none":       {nil, true},
		"fresh":      {[]string{"profile=fresh"}, true},
		"warm":       {[]string{"profile=warm", "profileDir=" + dir}, true},
		"no folder":  {[]string{"profile=warm", "profileDir=" + dir + "/none"}, false},
		"warm alone": {[]string{"profile=warm"}, false},
		"dir alone":  {[]string{"profileDir=" + dir}, false},
		"tepid":      {[]string{"profile=tepid"}, false},
	} {
		o, err := ParseOptions(tc.options)
		if err == nil {
			err = o.ForRun()
		}
		if (err == nil) != tc.ok || err != nil && !errors.Is(err, ErrOption) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
