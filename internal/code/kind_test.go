package code

import (
	"slices"
	"testing"
)

// TestKind: mst's scripts find one of its own words in every record, whatever berth's more precise one is.
func TestKind(t *testing.T) {
	for _, c := range slices.Concat(Contract, Own) {
		for _, sent := range []bool{false, true} {
			if k := c.Kind(sent); !slices.Contains(Kinds, k) {
				t.Errorf("%s, sent %v: %q is none of mst's", c, sent, k)
			}
		}
	}
	for _, tt := range []struct {
		code Code
		sent bool
		want Code
	}{
		{"", false, ""},
		{Timeout, true, Timeout},
		{NoMatchingSession, true, NoMatchingSession},
		{HomeNotFresh, false, AppUnavailable},
		{AppExited, false, AppUnavailable},
		{AppExited, true, ClientRunFailed},
		{ShardLost, true, ClientRunFailed},
		{KeyringLocked, false, AppUnavailable},
		{PromptTooLarge, false, SubmissionFailed},
		{DraftPromptNotApplied, false, SubmissionFailed},
		{PermissionRequired, true, ClientRunFailed},
		{ActionAcknowledgementUncertain, true, SubmissionFailed},
		{Cancelled, false, ClientRunFailed},
	} {
		if got := tt.code.Kind(tt.sent); got != tt.want {
			t.Errorf("%s, sent %v: %q, want %q", tt.code, tt.sent, got, tt.want)
		}
	}
}
