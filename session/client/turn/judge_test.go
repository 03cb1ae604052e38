package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/trace"
	"github.com/berth-run/berth/session/client/rollout"
)

func TestJudgeCalls(t *testing.T) {
	mcp := func(server string) trace.Event { return trace.Event{Source: trace.SourceMCP, Server: server} }
	tests := []struct {
		name    string
		require bool
		events  []trace.Event
		want    string // in the error
	}{
		{name: "none asked for", events: nil},
		{name: "required and missing", require: true, events: []trace.Event{{Source: trace.SourceBuiltin}}, want: "requireMcpCalls"},
		{name: "required and made", require: true, events: []trace.Event{mcp("wiki")}},
		{name: "a foreign server", events: []trace.Event{mcp("wiki"), mcp("codex_apps")}, want: "codex_apps"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Rules{Labels: []string{"wiki"}, RequireMCPCalls: tt.require}
			err := r.judgeCalls(r.count(tt.events))
			if (err == nil) != (tt.want == "") || err != nil && (code.Of(err) != code.ClientRunFailed || !errors.Is(err, ErrMeasure) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestClassify(t *testing.T) {
	upstream := code.Errorf(code.ClientRunFailed, "%w", &upstreamError{&rollout.Failure{Kind: "server_overloaded", HTTPStatus: 429}})
	for name, tc := range map[string]struct {
		err   error
		want  code.Code
		infra bool // also when it was submitted
	}{
		"time over":     {fmt.Errorf("turn: %w: 5s", ErrDeadline), code.Timeout, false},
		"cancelled":     {code.Errorf(code.Cancelled, "%w", context.Canceled), code.Cancelled, true},
		"model's side":  {upstream, code.ClientRunFailed, true},
		"without code":  {errors.New("x"), code.ClientRunFailed, false},
		"desktop":       {code.Errorf(code.SessionFailed, "x"), code.SessionFailed, true},
		"keyring":       {code.Errorf(code.KeyringAbsent, "x"), code.KeyringAbsent, true},
		"with its code": {code.Errorf(code.ParseFailure, "x"), code.ParseFailure, false},
	} {
		for _, submitted := range []bool{true, false} {
			c, infra := Classify(tc.err, submitted)
			if c != tc.want || infra != (tc.infra || !submitted) {
				t.Errorf("%s, submitted %v: %s, infrastructure %v", name, submitted, c, infra)
			}
		}
	}
}
