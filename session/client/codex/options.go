package codex

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

// Efforts are the reasoning efforts that are passed on. Codex forwards any word to a model that it
// doesn't know, so they're checked here.
var Efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"}

// Options are a variant's clientOptions for this client.
type Options struct {
	// ReasoningEffort is one of Efforts; "" leaves the model's own.
	ReasoningEffort string `json:"reasoningEffort"`
	// TimeoutMs is a trial's time, from its start to its answer.
	TimeoutMs int64 `json:"timeout"`
	// RequireMCPCalls fails a trial that called none of the variant's servers.
	RequireMCPCalls bool `json:"requireMcpCalls"`
	// Env is added to Codex's environment.
	Env map[string]string `json:"env"`
}

// Timeout is TimeoutMs, or the default.
func (o Options) Timeout() time.Duration {
	if o.TimeoutMs == 0 {
		return DefaultTimeout
	}
	return time.Duration(o.TimeoutMs) * time.Millisecond
}

// ParseOptions reads clientOptions strictly. Errors name the key and what it may be.
func ParseOptions(raw json.RawMessage) (Options, error) {
	var o Options
	if len(raw) == 0 || string(raw) == "null" {
		return o, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, optionError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return o, errors.New("clientOptions must be one JSON object")
	}
	return o, o.check()
}

func optionError(err error) error {
	if key, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("clientOptions: unknown key %s; %s takes reasoningEffort, timeout, requireMcpCalls and env", key, Name)
	}
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return fmt.Errorf("clientOptions.%s: a %s can't be used here", t.Field, t.Value)
	}
	return fmt.Errorf("clientOptions: %w", err)
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (o Options) check() error {
	if o.ReasoningEffort != "" && !slices.Contains(Efforts, o.ReasoningEffort) {
		return fmt.Errorf("clientOptions.reasoningEffort: %q is none of %s", o.ReasoningEffort, strings.Join(Efforts, ", "))
	}
	if o.TimeoutMs < 0 || o.TimeoutMs > maxTimeoutMs {
		return fmt.Errorf("clientOptions.timeout: %d is no number of milliseconds up to %d", o.TimeoutMs, maxTimeoutMs)
	}
	for name, value := range o.Env {
		switch {
		case !envName.MatchString(name) || strings.ContainsRune(value, 0):
			return fmt.Errorf("clientOptions.env: %q is no environment variable", name)
		case isReserved(name):
			return fmt.Errorf("clientOptions.env: %s is set by berth for each trial", name)
		}
	}
	return nil
}

// isReserved tells the variables that a trial's isolation and clean-up rest on.
func isReserved(name string) bool {
	return name == "HOME" || name == "CODEX_HOME" || name == "TMPDIR" ||
		strings.HasPrefix(name, "BERTH_") || strings.HasPrefix(name, "MST_")
}
