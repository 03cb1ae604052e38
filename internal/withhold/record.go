package withhold

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
)

// kept are the values of Codex's record that tell what happened and not what was said; everything below one
// stays. Elements of a list have the list's path.
var kept = set(
	"timestamp", "type",
	"payload.type", "payload.id", "payload.session_id", "payload.thread_id", "payload.turn_id", "payload.timestamp",
	"payload.originator", "payload.cli_version", "payload.source", "payload.model_provider", "payload.model",
	"payload.effort", "payload.approval_policy", "payload.sandbox_policy", "payload.reason", "payload.error",
	"payload.role", "payload.status", "payload.phase", "payload.call_id", "payload.name", "payload.namespace",
	"payload.executed_tool_calls", "payload.usage", "payload.turn_token_usage", "payload.info",
	"payload.internal_chat_message_metadata_passthrough.turn_id",
	"payload.item.type", "payload.item.id", "payload.item.kind", "payload.item.phase", "payload.item.server",
	"payload.item.tool", "payload.item.status", "payload.item.content.type", "payload.item.duration", "payload.content.type",
)

// open are the objects and lists that are looked into. Any other is emptied.
var open = set("", "payload", "payload.item", "payload.item.content", "payload.content", "payload.internal_chat_message_metadata_passthrough")

func set(paths ...string) map[string]bool {
	m := map[string]bool{}
	for _, p := range paths {
		m[p] = true
	}
	return m
}

// record rewrites one line after the other, so that a truncated one stays in its place.
func record(w io.Writer, r io.Reader) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if body := bytes.TrimSpace(line); len(body) > 0 {
			if _, err := w.Write(append(withholdLine(body), '\n')); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// begun is how a line begins that was cut off behind its ordinal.
var begun = regexp.MustCompile(`^\{(?:"timestamp":"[^"]{0,40}",)?"ordinal":\d+,`)

func withholdLine(line []byte) []byte {
	var v any
	in := json.NewDecoder(bytes.NewReader(line))
	in.UseNumber()
	if err := in.Decode(&v); err != nil {
		return append(begun.Find(line), "[withheld]"...)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value("", v)); err != nil {
		return []byte("[withheld]")
	}
	return bytes.TrimSpace(out.Bytes())
}

// value is what is left of the value at a path.
func value(path string, v any) any {
	if kept[path] {
		return v
	}
	switch v := v.(type) {
	case string:
		return withheld(v)
	case map[string]any:
		left := map[string]any{}
		for k, x := range v {
			if open[path] {
				left[k] = value(below(path, k), x)
			}
		}
		return left
	case []any:
		left := []any{}
		for _, x := range v {
			if open[path] {
				left = append(left, value(path, x))
			}
		}
		return left
	}
	return v // a number of an open object, true, false or null
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
