// Package models is what both ends of the tunnel know about a gateway's answers: how a models list
// is read, and how the coordinator's end tells the shard's in which phase a request failed. The
// worker imports it, so it has no dependency.
package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Phases in which a request can fail, in their order.
const (
	PhaseTunnel  = "tunnel"  // the coordinator's end can't be reached
	PhaseDNS     = "dns"     // the gateway's name has no address
	PhaseConnect = "connect" // no connection, or the proxy gives none
	PhaseTLS     = "tls"     // its certificate isn't trusted, or the handshake failed
	PhaseStatus  = "status"  // no answer in time, or one that isn't 200
	PhaseBody    = "body"    // the answer ends early, or isn't a models list
)

// HeaderPhase is in an answer that the coordinator's end made because the gateway gave none.
const HeaderPhase = "Berth-Phase"

// Timeout is how long the coordinator's end gives the models list. A probe that waits longer than
// that is told the phase that took too long.
const Timeout = 15 * time.Second

// ErrNoList: the bytes are JSON, and not a models list.
var ErrNoList = errors.New("not a models list: neither OpenAI's {\"data\": [{\"id\": …}]} nor {\"models\": [{\"slug\": …}]}")

// Parse gives the ids of a models list, of either shape, in its order. An empty list has none.
func Parse(data []byte) ([]string, error) {
	var list struct {
		Data   []struct{ ID string }
		Models []struct{ ID, Slug string }
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("the models list isn't JSON: %w", err)
	}
	if list.Data == nil && list.Models == nil {
		return nil, ErrNoList
	}
	ids := []string{}
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	for _, m := range list.Models {
		if m.Slug == "" {
			m.Slug = m.ID
		}
		ids = append(ids, m.Slug)
	}
	return ids, nil
}

// Failure is the body of an answer with HeaderPhase, under "error".
type Failure struct {
	Code    string `json:"code"` // inference_unavailable
	Phase   string `json:"phase"`
	Message string `json:"message"`
}

// FailureOf reads the Failure from an answer; false when it's the gateway's own.
func FailureOf(h http.Header, body []byte) (Failure, bool) {
	phase := h.Get(HeaderPhase)
	if phase == "" {
		return Failure{}, false
	}
	var answer struct{ Error Failure }
	_ = json.Unmarshal(body, &answer) // the header alone says where, the body only adds why
	answer.Error.Phase = phase
	return answer.Error, true
}

// WriteFailure answers a request with f.
func WriteFailure(w http.ResponseWriter, status int, f Failure) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(HeaderPhase, f.Phase)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]Failure{"error": f}) // who asked may be gone
}
