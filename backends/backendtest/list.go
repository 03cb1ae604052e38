package backendtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/owner"
)

var listCases = []testCase{
	{"list: by labels", "", testListLabels},
	{"list: by owner", "", testListOwner},
	{"list: every byte of a label", "", testLabelBytes},
	{"list: states", "", testListStates},
}

func testListLabels(t *testing.T, e *env) {
	a, b := e.config(t), e.config(t)
	a.Labels = map[string]string{runLabel: e.run, "berth.test.a": "1", "berth.test.b": "x"}
	b.Labels = map[string]string{runLabel: e.run, "berth.test.a": "2", "berth.test.b": "x"}
	e.create(t, a)
	e.create(t, b)
	tests := []struct {
		name   string
		labels map[string]string
		want   []string
	}{
		{"one value", map[string]string{"berth.test.a": "1"}, []string{a.Name}},
		{"any value", map[string]string{"berth.test.a": ""}, []string{a.Name, b.Name}},
		{"all of them", map[string]string{"berth.test.a": "2", "berth.test.b": "x"}, []string{b.Name}},
		{"not both", map[string]string{"berth.test.a": "1", "berth.test.b": "y"}, nil},
		{"a part of a key", map[string]string{"berth.test": ""}, nil},
		{"no pattern", map[string]string{"berth.test.*": ""}, nil},
		{"no pattern in a value", map[string]string{"berth.test.a": "*"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.labels[runLabel] = e.run
			var got []string
			for _, l := range e.list(t, tt.labels) {
				got = append(got, l.Name)
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("listed %v, want %v", got, tt.want)
			}
		})
	}
}

// testListOwner: of two runs, on one machine or on two, each finds its own shards and reads from their labels
// whose they are.
func testListOwner(t *testing.T, e *env) {
	self, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	other := self // on another machine, so that no sweep from here takes its shard for a dead one's
	other.Host, other.Boot, other.PID = "other", "other", self.PID+1
	want := map[string]owner.Shard{}
	for i, id := range []owner.Identity{self, other, self} {
		c := e.config(t)
		sh := owner.Shard{Run: fmt.Sprint("run", i%2), Index: i, Created: time.Unix(1800000000, 0).UTC(), Keep: i == 2, Owner: id}
		maps.Copy(c.Labels, sh.Labels())
		want[e.create(t, c).ID()] = sh
	}
	for label, value := range map[string]string{owner.LabelRun: "run0", owner.LabelPID: fmt.Sprint(self.PID), owner.LabelHost: self.Host} {
		got := map[string]owner.Shard{}
		for _, l := range e.list(t, map[string]string{runLabel: e.run, label: value}) {
			if got[l.ID], err = owner.Parse(l.Labels); err != nil {
				t.Error(err)
			}
		}
		own := maps.Clone(want)
		maps.DeleteFunc(own, func(_ string, s owner.Shard) bool { return value != "" && s.Owner != self })
		if d := cmp.Diff(own, got); d != "" {
			t.Errorf("%s=%s (-want +got)\n%s", label, value, d)
		}
	}
}

func testLabelBytes(t *testing.T, e *env) {
	var key, value strings.Builder
	for b := byte('!'); b < 0x7f; b++ {
		if b != '=' {
			key.WriteByte(b)
		}
	}
	// Every byte that can be in UTF-8: all that one or two can say, and what begins three and four.
	for r := rune(1); r <= utf8.MaxRune; r += max(1, r>>7) {
		if utf8.ValidRune(r) {
			value.WriteRune(r)
		}
	}
	for b := range 256 {
		if can := b > 0 && b < 0xc0 || b > 0xc1 && b < 0xf5; can != strings.Contains(value.String(), string([]byte{byte(b)})) {
			t.Fatalf("byte %#x", b)
		}
	}
	c := e.config(t)
	c.Labels[key.String()] = value.String()
	c.Labels["berth.test.empty"] = ""
	c.Labels["berth.test.long"] = strings.Repeat("x", 4000)
	e.create(t, c)
	got := e.list(t, map[string]string{key.String(): value.String(), runLabel: e.run})
	if len(got) != 1 {
		t.Fatalf("listed %d shards, want 1", len(got))
	}
	for k, v := range c.Labels {
		if w, ok := got[0].Labels[k]; !ok || w != v {
			t.Errorf("label %q came back as %q, want %q", k, w, v)
		}
	}
}

func testListStates(t *testing.T, e *env) {
	want := map[string]string{}
	created := e.create(t, e.config(t))
	want[created.ID()] = backends.StateCreated
	want[e.started(t).ID()] = backends.StateRunning
	ended := e.started(t, "exit", "1")
	if _, err := ended.Wait(e.context(t)); err != nil {
		t.Fatal(err)
	}
	want[ended.ID()] = backends.StateExited
	got := map[string]string{}
	for _, l := range e.list(t, map[string]string{runLabel: e.run}) {
		got[l.ID] = l.State
		if l.Created.IsZero() {
			t.Errorf("%s has no time of creation", l.Name)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
}

func (e *env) list(t *testing.T, labels map[string]string) []backends.Listed {
	t.Helper()
	l, err := e.List(e.context(t), labels)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
