package rollout

import (
	"encoding/json"
	"strings"
)

// Failure is the error that a turn ended with.
type Failure struct {
	// Message is Codex's own text; it may name the gateway's address.
	Message string
	// Kind is Codex's class of error, such as "http_connection_failed".
	Kind string
	// HTTPStatus is the gateway's last status, 0 when unknown.
	HTTPStatus int
}

// Upstream tells whether the model's side failed, so that the turn says nothing about the app.
func (f *Failure) Upstream() bool {
	switch f.Kind {
	case "http_connection_failed", "internal_server_error", "response_stream_connection_failed",
		"response_stream_disconnected", "response_too_many_failed_attempts", "server_overloaded",
		"unauthorized", "usage_limit_exceeded":
		return true
	}
	// A stream that was cut has no class of its own in 0.171.
	return strings.HasPrefix(f.Message, "stream disconnected before completion")
}

// failure reads codex_error_info, a name or an object with the name as its only key.
func (e *errorPayload) failure() *Failure {
	f := &Failure{Message: e.Message}
	if json.Unmarshal(e.Info, &f.Kind) == nil {
		return f
	}
	var detailed map[string]struct {
		HTTPStatus int `json:"http_status_code"`
	}
	if json.Unmarshal(e.Info, &detailed) == nil {
		for kind, d := range detailed {
			f.Kind, f.HTTPStatus = kind, d.HTTPStatus
		}
	}
	return f
}
