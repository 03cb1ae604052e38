package eval

import (
	"bytes"
	"testing"

	"github.com/berth-run/berth/backends/fake"
)

func TestEngineInfoTellsWarnings(t *testing.T) {
	var said bytes.Buffer
	q := Request{Engine: fake.New(fake.Options{Warnings: []string{"slow: do this", "odd: do that"}}), Progress: &said}
	if info, err := q.engineInfo(t.Context()); err != nil || info.Name != "fake" {
		t.Fatalf("%+v, %v", info, err)
	}
	if want := "[berth] warning: slow: do this\n[berth] warning: odd: do that\n"; said.String() != want {
		t.Errorf("said %q, want %q", &said, want)
	}
}
