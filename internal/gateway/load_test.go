package gateway

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// Each error names the place and what would be right.
func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"unknown key", "{\n \"rulez\": []}", `s.json:2:2: unknown key "rulez"; a script takes deltas, faults, kinds, models, rules, token, usage`},
		{"unknown key, deep", "{\"rules\": [\n{\"steps\": [\n{\"txt\": 1}]}]}", `s.json:3:2: unknown key "txt"; rules[0].steps[0] takes command, delayMs, deltas, mcp, text, tool, usage`},
		{"wrong case", `{"Rules": []}`, `s.json:1:2: unknown key "Rules"`},
		{"twice", "{\"models\": [],\n\n\"models\": []}", `s.json:3:1: "models" is given twice`},
		{"wrong type", "{\n\"rules\": 5}", "s.json:2:10: rules must be a list, not number"},
		{"wrong number", "{\"rules\": [],\n\"token\": {\"rotateEvery\": 1.5}}", "s.json:2:26: token.rotateEvery must be a whole number, not number 1.5"},
		{"not JSON", "{\n\"models\": [,]}", "s.json:2:12: isn't JSON"},
		{"ends early", "{\n\"models\": [", "s.json:2:11: the JSON ends too early"},
		{"empty", "", "s.json:1:1: the JSON ends too early"},
		{"two values", `{"rules":[{"steps":[{"text":"x"}]}]} {}`, "s.json:1:38: text after the end"},
		{"wrong type, deep", "{\"rules\": [{\"steps\": [\n{\"text\": [\"x\"]}]}]}", "s.json:2:10: rules.steps.text must be a string, not array"},
		{"not UTF-8", "{\"models\": [\"\xff\"]}", "s.json:1:14: isn't UTF-8"},
		{"no rules", `{}`, "rules: a script needs at least one rule"},
		{"no steps", "{\"rules\": [\n{\"name\": \"x\"}]}", "s.json:2:1: rules[0]: needs steps"},
		{"last step calls", "{\"rules\":[{\"steps\":[\n{\"command\":{\"cmd\":\"ls\"}}]}]}", "s.json:2:1: rules[0].steps[0]: the last step ends the turn"},
		{"text too early", `{"rules":[{"steps":[{"text":"a"},{"text":"b"}]}]}`, "rules[0].steps[0]: a text without a call ends the turn"},
		{"two calls", `{"rules":[{"steps":[{"command":{"cmd":"ls"},"tool":{"name":"x"}},{"text":"b"}]}]}`, "one step calls one tool"},
		{"no text", `{"rules":[{"steps":[{}]}]}`, "needs a text"},
		{"mcp without tool", `{"rules":[{"steps":[{"mcp":{"server":"s"}},{"text":"b"}]}]}`, "rules[0].steps[0].mcp: needs server and tool"},
		{"template", `{"rules":[{"steps":[{"text":"{{outptu}}"}]}]}`, `function "outptu" not defined`},
		{"regex", "{\"rules\":[{\"match\":{\n\"regex\":\"(\"},\"steps\":[{\"text\":\"b\"}]}]}", "s.json:2:9: rules[0].match.regex: error parsing regexp"},
		{"model pattern", `{"rules":[{"match":{"model":"["},"steps":[{"text":"b"}]}]}`, "rules[0].match.model: syntax error"},
		{"kind", `{"kinds":{"a":"chat"},"rules":[{"steps":[{"text":"b"}]}]}`, `kinds.a: must be "classic" or "code"`},
		{"no fault", `{"faults":[{"times":1}],"rules":[{"steps":[{"text":"b"}]}]}`, "faults[0]: needs exactly one of status, stall and cut"},
		{"two faults", `{"faults":[{"status":500,"cut":true}],"rules":[{"steps":[{"text":"b"}]}]}`, "needs exactly one"},
		{"good status", `{"faults":[{"status":200}],"rules":[{"steps":[{"text":"b"}]}]}`, "faults[0].status: must be from 400 to 599"},
		{"stall", `{"faults":[{"stall":"long"}],"rules":[{"steps":[{"text":"b"}]}]}`, `faults[0].stall: must be "before" or "stream"`},
		{"path", `{"faults":[{"cut":true,"path":"/v1"}],"rules":[{"steps":[{"text":"b"}]}]}`, `faults[0].path: must be "models" or "responses"`},
		{"step", `{"rules":[{"faults":[{"cut":true,"step":2}],"steps":[{"text":"b"}]}]}`, "rules[0].faults[0].step: the rule has the steps 1 to 1"},
		{"retry", `{"faults":[{"cut":true,"retryAfter":2}],"rules":[{"steps":[{"text":"b"}]}]}`, "retryAfter and message belong to a status"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("s.json", []byte(tt.in))
			if !errors.Is(err, ErrScript) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestLoadWithoutAFile(t *testing.T) {
	if _, err := Load("no/such/file.json"); !errors.Is(err, ErrScript) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
