package runner

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
)

func TestReason(t *testing.T) {
	ended := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		return ctx
	}
	alive, user := context.Background(), ended(errors.New("interrupted"))
	killed := ended(shardEnded(backends.ExitStatus{Code: 137}, time.Minute, 2<<30))
	oom := ended(shardEnded(backends.ExitStatus{Code: 137, OOMKilled: true}, time.Minute, 2<<30))
	silent := ended(shardEnded(backends.ExitStatus{Code: shardproto.ExitSilent}, time.Minute, 2<<30))
	tests := map[string]struct {
		ctx  context.Context
		err  error
		want string
	}{
		"no failure":                 {user, nil, ""},
		"a cut link":                 {alive, io.ErrUnexpectedEOF, "shard_lost: unexpected EOF"},
		"a code":                     {alive, code.Errorf(code.ShardSilent, "nothing heard"), "shard_silent: nothing heard"},
		"cut by the user":            {user, io.ErrUnexpectedEOF, "cancelled: interrupted"},
		"call cut by the user":       {user, code.Errorf(code.InferenceUnavailable, "no token"), "cancelled: interrupted"},
		"cut by the shard's end":     {killed, io.ErrUnexpectedEOF, "shard_lost: the shard ended with status 137"},
		"link lost by its end":       {oom, code.Errorf(code.ShardLost, "link lost"), "oom_killed: the shard ended: its memory limit of 2 GiB was hit; raise it with --runner-option memory="},
		"cut by the switch":          {silent, io.ErrUnexpectedEOF, "shard_lost: the shard ended: its dead man's switch ended it: nothing was heard from berth for 1m0s"},
		"results not saved by then":  {user, code.Errorf(code.ResultsNotSaved, "disk full"), "results_not_saved: disk full"},
		"protection missing by then": {killed, code.Errorf(code.ProtectionMissing, "seccomp"), "protection_missing: seccomp"},
	}
	for name, tt := range tests {
		got := ""
		if err := reason(tt.ctx, tt.err); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestFatal: what ends the whole run. A gateway that some shard has reached isn't down for all.
func TestFatal(t *testing.T) {
	for c, want := range map[code.Code][2]bool{ // before and after a shard has started
		code.ProtectionMissing:    {true, true},
		code.LimitsNotEnforced:    {true, true},
		code.WorkerMismatch:       {true, true},
		code.ResultsNotSaved:      {true, true},
		code.InferenceUnavailable: {true, false},
		code.ShardNotCreated:      {false, false},
		code.ShardLost:            {false, false},
		code.OOMKilled:            {false, false},
		code.Cancelled:            {false, false},
	} {
		s := &common{stops: newStops(newProgress(nil, nil))}
		err := code.Errorf(c, "x")
		before := s.fatal(err)
		s.stops.begin()
		if got := [2]bool{before, s.fatal(err)}; got != want {
			t.Errorf("%s: %v, want %v", c, got, want)
		}
	}
}
