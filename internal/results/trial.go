package results

import (
	"github.com/berth-run/berth/internal/grade"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/trace"
	"github.com/berth-run/berth/session/client"
)

// FromResult is the record of one trial that a shard sent back.
func FromResult(runID, dataset string, k shardproto.Key, r client.Result) Trial {
	t := Trial{
		Envelope: Envelope{Format, KindTrial}, RunID: runID, Variant: k.Variant, CaseID: k.CaseID, Trial: k.Trial,
		DatasetName: dataset, DurationMs: r.DurationMs, InfrastructureError: r.Infrastructure, Error: r.Error,
		Trace: r.Trace, ClientTelemetry: r.Telemetry, ClientMetadata: metadata(r), Steps: r.Steps,
	}
	if r.Trace != nil {
		t.ClientUsage, t.TraceEvidence = r.Trace.Usage, r.Trace.Evidence
	}
	if t.Error == "" && r.FailureCode != "" {
		t.Error = string(r.FailureCode)
	}
	return t
}

// metadata adds what a result says of its own to what the client gave.
func metadata(r client.Result) map[string]any {
	m := map[string]any{"submitted": r.Submitted}
	for k, v := range r.Metadata {
		m[k] = v
	}
	if r.FailureCode != "" {
		m["failureCode"] = string(r.FailureCode)
		if _, ok := m[client.FailureKind]; !ok {
			m[client.FailureKind] = string(r.FailureCode.Kind(r.Submitted))
		}
	}
	if r.SessionID != "" {
		m["session"] = map[string]any{"id": r.SessionID, "turnId": r.TurnID}
	}
	return m
}

// Key names the trial.
func (t *Trial) Key() shardproto.Key {
	return shardproto.Key{Variant: t.Variant, CaseID: t.CaseID, Trial: t.Trial}
}

// FailureCode is the code the trial failed with, "" when it didn't. Records of before there was one have it
// as their kind.
func (t *Trial) FailureCode() string {
	if c, ok := t.ClientMetadata["failureCode"].(string); ok {
		return c
	}
	return t.FailureKind()
}

// FailureKind is what kind of failure that was, one of code.Kinds, "" for none.
func (t *Trial) FailureKind() string {
	k, _ := t.ClientMetadata[client.FailureKind].(string)
	return k
}

// attempt is the trial as a grader sees it; nil stays nil.
func (t *Trial) attempt() *grade.Attempt {
	if t == nil {
		return nil
	}
	return &grade.Attempt{Trace: t.Trace, Error: t.Error, Infrastructure: t.InfrastructureError}
}

// redacted is t without what the app and the tools said. What was called, with which arguments, and
// what it cost stays.
func (t Trial) redacted() Trial {
	if t.Trace == nil {
		return t
	}
	tr := *t.Trace
	tr.FinalText = ""
	tr.Events = make([]trace.Event, len(t.Trace.Events))
	for i, e := range t.Trace.Events {
		e.Output = nil
		tr.Events[i] = e
	}
	t.Trace = &tr
	return t
}
