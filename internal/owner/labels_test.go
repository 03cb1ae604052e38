package owner

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLabelsRoundTrip(t *testing.T) {
	for _, keep := range []bool{false, true} {
		want := Shard{Run: "r1", Index: 3, Created: time.Date(2026, 11, 29, 16, 0, 0, 0, time.UTC), Keep: keep, Owner: self}
		got, err := Parse(want.Labels())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, key := range []string{LabelShard, LabelPID, LabelCreated} {
		labels := maps.Clone(Shard{Run: "r1", Owner: self}.Labels())
		for _, value := range []string{"", "x", "-5x"} {
			labels[key] = value
			if _, err := Parse(labels); !errors.Is(err, ErrLabels) {
				t.Errorf("%s=%q: %v", key, value, err)
			}
		}
	}
}

func TestAnyKeepLabelKeeps(t *testing.T) {
	labels := Shard{Run: "r1", Owner: self}.Labels()
	labels[LabelKeep] = ""
	if s, err := Parse(labels); err != nil || !s.Keep {
		t.Errorf("%+v, %v", s, err)
	}
}
