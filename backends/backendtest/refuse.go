package backendtest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest/probe"
	"github.com/berth-run/berth/oci"
)

// refusals see that a backend without a capability says so, and does nothing by halves.
var refusals = map[string]func(t *testing.T, e *env){
	"Copy": func(t *testing.T, e *env) {
		s := e.started(t)
		sent, _ := copyTree(t)
		if err := s.CopyIn(e.context(t), oci.Home, bytes.NewReader(sent)); !errors.Is(err, backends.ErrUnsupported) {
			t.Errorf("in: %v, want ErrUnsupported", err)
		}
		if err := s.CopyOut(e.context(t), oci.Home, io.Discard); !errors.Is(err, backends.ErrUnsupported) {
			t.Errorf("out: %v, want ErrUnsupported", err)
		}
		e.wantListed(t, s, oci.Home, map[string]probe.Entry{})
	},
	"NetworkEngine": func(t *testing.T, e *env) {
		c := e.config(t)
		c.Network = backends.NetworkEngine
		if _, err := e.Create(e.context(t), c); !errors.Is(err, backends.ErrUnsupported) {
			t.Errorf("got %v, want ErrUnsupported", err)
		}
	},
}
