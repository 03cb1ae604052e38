// Package shardproto is mst.shard/v1: the bundle a shard gets, the JSON lines it and the
// coordinator exchange, and the result files it writes. Only shapes; no transport and no policy.
package shardproto

import (
	"encoding/json"

	"github.com/berth-run/berth/session/client"
)

// Format and kinds.
const (
	Format       = "mst.shard/v1"
	KindBundle   = "bundle"
	KindResult   = "client-result"
	BundleFile   = "bundle.json"
	ResultSuffix = ".json"
)

// WarmProfile is the folder, in the shard's home, of the app state that profiles begin with.
const WarmProfile = "warm-profile"

// ExitSilent is PID 1's exit status when the dead man's switch ended the shard: nothing was heard from
// the coordinator for too long.
const ExitSilent = 3

// Key names one trial of the run.
type Key struct {
	Variant string `json:"variant"`
	CaseID  string `json:"caseId"`
	Trial   int    `json:"trial"`
}

// Bundle is everything a shard is told. It holds no secret.
type Bundle struct {
	Format string `json:"format"`
	Kind   string `json:"kind"`
	RunID  string `json:"runId"`
	Shard  Shard  `json:"shard"`
	// MST is the coordinator's version; the worker answers with its own in Hello.
	MST        string          `json:"mst"`
	Plugins    []string        `json:"plugins"`
	EvalConfig json.RawMessage `json:"evalConfig,omitempty"`
	// TokenServers are the labels whose bearer the worker must ask for.
	TokenServers []string `json:"tokenServers"`
	Batches      []Batch  `json:"batches"`
	// Inference is berth's own: how the shard reaches its model.
	Inference Inference `json:"inference"`
	// WarmProfile is berth's own: apps' profiles begin with the state in the folder WarmProfile of the
	// shard's home.
	WarmProfile bool `json:"warmProfile,omitempty"`
}

// Inference is the way to the model without anything secret.
type Inference struct {
	// Mode is client.ModeGateway or client.ModeAPIKey.
	Mode string `json:"mode"`
	// BasePath is the gateway's path below the tunnel's address, "/v1".
	BasePath string `json:"basePath,omitempty"`
}

// Shard is one shard's place in the run; Index counts from 0.
type Shard struct {
	Index int `json:"index"`
	Count int `json:"count"`
}

// Batch is one variant's requests, run in order.
type Batch struct {
	Variant  string    `json:"variant"`
	Requests []Request `json:"requests"`
}

// Request is one trial. Config and Input.Servers are the same for every request of a batch.
type Request struct {
	CaseID string `json:"caseId"`
	Trial  int    `json:"trial"`
	Config Config `json:"config"`
	Input  Input  `json:"input"`
}

// Config is the client and its settings.
type Config struct {
	Type    string          `json:"type"`
	Model   string          `json:"model,omitempty"`
	Options json.RawMessage `json:"options,omitempty"`
}

// Input is the prompt, template applied, and the servers as declared.
type Input struct {
	Prompt  string          `json:"prompt"`
	Servers []client.Server `json:"servers"`
}

// Message types, worker to coordinator.
const (
	TypeHello      = "hello"
	TypeNeedTokens = "need-tokens"
	TypeAcquire    = "acquire"
	TypeTrial      = "trial"
	TypeHeartbeat  = "heartbeat"
	TypeDone       = "done"
)

// Message types, coordinator to worker.
const (
	TypeTokens  = "tokens"
	TypeGranted = "granted"
	TypeCancel  = "cancel"
)

// Trial statuses and clean-up states.
const (
	StatusCollected = "collected"
	StatusInfra     = "infra"
	CleanupOK       = "ok"
	CleanupFailed   = "failed"

	ReasonStart    = "start"
	ReasonExpiring = "expiring"
)

// Message is one line, either way; Type says which of the other fields are set.
type Message struct {
	Type string `json:"type"`

	Protocol string       `json:"protocol,omitempty"` // hello
	MST      string       `json:"mst,omitempty"`      // hello
	Image    string       `json:"image,omitempty"`    // hello
	Client   *client.Info `json:"client,omitempty"`   // hello

	Servers []string `json:"servers,omitempty"` // need-tokens
	Reason  string   `json:"reason,omitempty"`  // need-tokens, cancel; done: why a result is missing

	Key    *Key   `json:"key,omitempty"`    // acquire, granted, trial
	Status string `json:"status,omitempty"` // trial
	Path   string `json:"path,omitempty"`   // trial: result file, relative to the results folder

	At string `json:"at,omitempty"` // heartbeat, RFC 3339

	Collected int    `json:"collected,omitempty"` // done
	Infra     int    `json:"infra,omitempty"`     // done
	Cancelled int    `json:"cancelled,omitempty"` // done: trials that were not run
	Cleanup   string `json:"cleanup,omitempty"`   // done
	// StepsMs is berth's own, in done: what the worker timed, in milliseconds by step.
	StepsMs map[string]float64 `json:"stepsMs,omitempty"`
	// Cleanups is berth's own, in done: what the end of each batch came to.
	Cleanups []Cleanup `json:"cleanups,omitempty"`

	ByServer map[string]Token  `json:"byServer,omitempty"` // tokens
	Env      map[string]string `json:"env,omitempty"`      // tokens
}

// Cleanup is what ending a batch's app and removing its profile came to. It's over only when the batch's
// trials have long been told.
type Cleanup struct {
	Variant    string `json:"variant"`
	Status     string `json:"status"` // client.Completed, client.Failed
	DurationMs int64  `json:"durationMs"`
}

// Token is one server's bearer. ExpiresAt is RFC 3339, "" for unknown.
type Token struct {
	AccessToken string `json:"accessToken"`
	ExpiresAt   string `json:"expiresAt,omitempty"`
}

// ResultFile is <batch>/<index>.json in the results folder, written to a temporary name and renamed.
type ResultFile struct {
	Format string        `json:"format"`
	Kind   string        `json:"kind"`
	Key    Key           `json:"key"`
	Result client.Result `json:"result"`
}
