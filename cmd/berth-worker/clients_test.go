package main

import (
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/worker"
	"github.com/berth-run/berth/session/client/chatgpt"
	"github.com/berth-run/berth/session/client/codex"
)

func TestClients(t *testing.T) {
	get := clients(&redact.Set{}, worker.NewDesktop(nil))
	for _, name := range []string{chatgpt.Name, codex.Name} {
		if app, err := get(name); err != nil || app == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := get("cowork")
	if code.Of(err) != code.UnsupportedClient || !strings.Contains(err.Error(), `it has berth/client/codex and chatgpt`) {
		t.Errorf("cowork: %v", err)
	}
	codetest.Saw(t, code.Of(err))
}
