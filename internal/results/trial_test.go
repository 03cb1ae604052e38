package results

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/schema/schematest"
	"github.com/berth-run/berth/session/client"
)

// TestFailureWords: a record has the precise code, and mst's word for its kind: the client's, where that
// knows better. An older record's only word is its code.
func TestFailureWords(t *testing.T) {
	own := map[string]any{client.FailureKind: code.AppUnavailable}
	for name, tt := range map[string]struct {
		result     client.Result
		kind, code string
	}{
		"none":         {client.Result{}, "", ""},
		"on the way":   {client.Result{FailureCode: code.SkipMissingOrAmbiguous}, "submission_failed", "skip_missing_or_ambiguous"},
		"before":       {client.Result{FailureCode: code.SkipMissingOrAmbiguous, Metadata: own}, "app_unavailable", "skip_missing_or_ambiguous"},
		"sent":         {client.Result{FailureCode: code.AppExited, Submitted: true}, "client_run_failed", "app_exited"},
		"mst's itself": {client.Result{FailureCode: code.Timeout, Submitted: true}, "timeout", "timeout"},
	} {
		body, err := json.Marshal(FromResult("r", "d", shardproto.Key{Variant: "v", CaseID: "c"}, tt.result))
		if err != nil {
			t.Fatal(err)
		}
		var got Trial
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if got.FailureKind() != tt.kind || got.FailureCode() != tt.code {
			t.Errorf("%s: %s", name, body)
		}
	}
	old := Trial{ClientMetadata: map[string]any{"failureKind": "oom_killed"}}
	if old.FailureCode() != "oom_killed" {
		t.Errorf("an older record's code is %q", old.FailureCode())
	}
}

// TestFailuresFitSchemas: whatever a trial ends with, its record is what the schemas say.
func TestFailuresFitSchemas(t *testing.T) {
	for name, set := range schematest.Sets(t) {
		s := set(t, "run/v1/trial.schema.json")
		for _, c := range slices.Concat(code.Contract, code.Own) {
			for _, sent := range []bool{false, true} {
				r := client.Result{FailureCode: c, Error: "why", Submitted: sent, Infrastructure: !sent}
				body, err := json.Marshal(FromResult("20260101T000000Z-000000", "d", shardproto.Key{Variant: "v", CaseID: "c"}, r))
				if err != nil {
					t.Fatal(err)
				}
				doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Validate(doc); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}
