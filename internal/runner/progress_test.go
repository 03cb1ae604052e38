package runner

import (
	"errors"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
)

func TestProgressLines(t *testing.T) {
	secrets := &redact.Set{}
	secrets.Add("hunter2-hunter2")
	var out strings.Builder
	newProgress(&out, secrets).shard(shardproto.Shard{Index: 1, Count: 3}).printf("it says %s", "hunter2-hunter2\nand\x1b[31m more %d")
	if want := "[berth] shard 2/3: it says [redacted]; and [31m more %d\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestStops: each reason is said once, as soon as it's known that the run goes on without that shard.
func TestStops(t *testing.T) {
	shard := func(i int) shardproto.Shard { return shardproto.Shard{Index: i, Count: 4} }
	a, b := errors.New("a"), errors.New("b")
	tests := map[string]struct {
		do   func(*stops)
		want []string
	}{
		"held until a shard starts": {func(s *stops) { s.add(shard(0), a) }, nil},
		"said when one starts":      {func(s *stops) { s.add(shard(0), a); s.begin() }, []string{"1/4: stopped: a"}},
		"said at once afterwards":   {func(s *stops) { s.begin(); s.add(shard(0), a) }, []string{"1/4: stopped: a"}},
		"said once": {func(s *stops) { s.begin(); s.add(shard(2), a); s.add(shard(0), b); s.add(shard(1), a) },
			[]string{"3/4: stopped: a", "1/4: stopped: b", "2/4: stopped, for the same reason as shard 3/4"}},
		"the caller's aren't": {func(s *stops) { s.add(shard(0), a); s.add(shard(1), a); s.close(a) }, nil},
		"others are":          {func(s *stops) { s.add(shard(0), a); s.add(shard(1), b); s.close(a) }, []string{"2/4: stopped: b"}},
		"nor what was said":   {func(s *stops) { s.begin(); s.add(shard(0), a); s.close(nil) }, []string{"1/4: stopped: a"}},
	}
	for name, tt := range tests {
		var out strings.Builder
		tt.do(newStops(newProgress(&out, nil)))
		want := ""
		for _, w := range tt.want {
			want += "[berth] shard " + w + "\n"
		}
		if out.String() != want {
			t.Errorf("%s: %q, want %q", name, out.String(), want)
		}
	}
}

// TestBecause: a failed trial's line has its code once.
func TestBecause(t *testing.T) {
	for want, r := range map[string]client.Result{
		"":                         {},
		" (timeout: no answer)":    {FailureCode: code.Timeout, Error: "no answer"},
		" (cancelled)":             {FailureCode: code.Cancelled, Error: "cancelled"},
		" (client_run_failed)":     {FailureCode: code.ClientRunFailed},
		" (shard_lost: the shard)": {FailureCode: code.ShardLost, Error: code.Detail(code.Errorf(code.ShardLost, "the shard"))},
	} {
		if got := because(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
