// Package options reads a variant's clientOptions strictly, and checks those that every client of Codex
// has. The coordinator has checked them before; a client makes sure, since it hands them to an app that
// takes any word.
package options

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// DefaultTimeout is a trial's time when the options name none.
const DefaultTimeout = 300 * time.Second

// maxTimeoutMs is the longest time that MST's timers take, almost 25 days.
const maxTimeoutMs = 1<<31 - 1

// Common are the options that both clients have, to be embedded.
type Common struct {
	// ReasoningEffort is one of the client's efforts; "" leaves the model's own.
	ReasoningEffort string `json:"reasoningEffort"`
	// TimeoutMs is a trial's time, from its start to its answer.
	TimeoutMs int64 `json:"timeout"`
	// RequireMCPCalls fails a trial that called none of the variant's servers.
	RequireMCPCalls bool `json:"requireMcpCalls"`
	// Env is added to the app's environment.
	Env map[string]string `json:"env"`
}

// Timeout is TimeoutMs, or the default.
func (o Common) Timeout() time.Duration {
	if o.TimeoutMs == 0 {
		return DefaultTimeout
	}
	return time.Duration(o.TimeoutMs) * time.Millisecond
}

// Decode reads clientOptions into o, a pointer to a struct. Errors name the key and, as keys, what the
// client called name takes.
func Decode(raw json.RawMessage, o any, name, keys string) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(o); err != nil {
		return explain(err, name, keys)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("clientOptions must be one JSON object")
	}
	return nil
}

func explain(err error, name, keys string) error {
	if key, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("clientOptions: unknown key %s; %s takes %s", key, name, keys)
	}
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return fmt.Errorf("clientOptions.%s: a %s can't be used here", strings.TrimPrefix(t.Field, "Common."), t.Value)
	}
	return fmt.Errorf("clientOptions: %w", err)
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Check makes sure of all that is in o: the effort is one of efforts, and no variable is reserved.
func (o Common) Check(efforts []string, reserved func(name string) bool) error {
	if err := OneOf("reasoningEffort", o.ReasoningEffort, efforts...); err != nil {
		return err
	}
	if o.TimeoutMs < 0 || o.TimeoutMs > maxTimeoutMs {
		return fmt.Errorf("clientOptions.timeout: %d is no number of milliseconds up to %d", o.TimeoutMs, maxTimeoutMs)
	}
	for name, value := range o.Env {
		switch {
		case !envName.MatchString(name) || strings.ContainsRune(value, 0):
			return fmt.Errorf("clientOptions.env: %q is no environment variable", name)
		case reserved(name):
			return fmt.Errorf("clientOptions.env: %s is set by berth for each trial", name)
		}
	}
	return nil
}

// OneOf makes sure that a value that was given is one of those that key takes.
func OneOf(key, value string, allowed ...string) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("clientOptions.%s: %q is none of %s", key, value, strings.Join(allowed, ", "))
}
