package engines

import (
	"fmt"
	"maps"
	"testing"
)

// What two rollouts tell is the same where Codex wrote of two things in either order, and isn't where one of
// them is another.
func TestSettle(t *testing.T) {
	const (
		usage = `{"ordinal":%d,"type":"token_usage_record","payload":{"response_id":"resp_1a_1","usage":{"total_tokens":12}}}`
		item  = `{"ordinal":%d,"type":"event_msg","payload":{"type":"item_completed","item":{"type":"McpToolCall","tool":"get"}}}`
		other = `{"ordinal":%d,"type":"event_msg","payload":{"type":"item_completed","item":{"type":"McpToolCall","tool":"put"}}}`
	)
	one, swapped, changed := told(t, usage, item), told(t, item, usage), told(t, usage, other)
	if !maps.Equal(one, swapped) {
		t.Errorf("%v\nthe other way round: %v", one, swapped)
	}
	if maps.Equal(one, changed) {
		t.Errorf("another tool makes no difference: %v", one)
	}
}

// told is what a rollout of these lines tells, but for what may differ.
func told(t *testing.T, lines ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	body := ""
	for i, line := range lines {
		body += fmt.Sprintf(line, i) + "\n"
	}
	if err := read("matched-rollout-*.jsonl", []byte(body), all); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(all, func(path, _ string) bool { return allowed(path, mayDiffer) != nil })
	return all
}
