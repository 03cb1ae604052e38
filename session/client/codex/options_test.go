package codex

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestParseOptions(t *testing.T) {
	tests := []struct {
		raw     string
		timeout time.Duration
		err     string
	}{
		{raw: "", timeout: 5 * time.Minute},
		{raw: "null", timeout: 5 * time.Minute},
		{raw: `{"reasoningEffort":"xhigh","timeout":420000,"requireMcpCalls":true,"env":{"A_1":""}}`, timeout: 7 * time.Minute},
		{raw: `{"reasoningEffort":"bogus"}`, err: `reasoningEffort: "bogus" is none of none, minimal, low,`},
		{raw: `{"timeout":-1}`, err: "timeout: -1"},
		{raw: `{"timeout":"1s"}`, err: "clientOptions.timeout: a string can't be used here"},
		{raw: `{"surface":"codex"}`, err: `unknown key "surface"`},
		{raw: `{"env":{"A=B":"x"}}`, err: `"A=B" is no environment variable`},
		{raw: `{"env":{"A":"\u0000"}}`, err: "no environment variable"},
		{raw: `{"env":{"CODEX_HOME":"/"}}`, err: "CODEX_HOME is set by berth"},
		{raw: `{"env":{"MST_X":"/"}}`, err: "MST_X is set by berth"},
		{raw: `[]`, err: "a array can't be used here"},
		{raw: `{} {}`, err: "one JSON object"},
	}
	for _, tt := range tests {
		t.Run(tt.raw, func(t *testing.T) {
			o, err := ParseOptions(json.RawMessage(tt.raw))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error %v, want one with %q", err, tt.err)
			}
			if err == nil && o.Timeout() != tt.timeout {
				t.Errorf("timeout %v, want %v", o.Timeout(), tt.timeout)
			}
		})
	}
}
