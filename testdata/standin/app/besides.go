package app

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/berth-run/berth/testdata/standin/scenario"
)

// besides is what a scenario has beside the app's window. The splash stays until it's there.
type besides struct {
	web     *web
	profile string
	config  Config
	kind    scenario.Besides

	mu      sync.Mutex
	started []*browser
	ended   bool
}

// start opens it when the app's own window has drawn its splash: a window joins the browser that runs.
func (b *besides) start(ctx context.Context, drawn <-chan struct{}) {
	if b.kind == "" {
		return
	}
	select {
	case <-drawn:
	case <-ctx.Done():
		return
	}
	data := "Chromium"
	if b.kind == scenario.BesidesApp {
		data = "Another"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	browser, err := browse(b.web.address("&beside="+string(b.kind)), filepath.Join(b.profile, data), b.config)
	if err != nil {
		b.web.stage.journal.log(entry{Event: "failed", Text: err.Error()})
		return
	}
	b.started = append(b.started, browser)
}

func (b *besides) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	for _, browser := range b.started {
		browser.end()
	}
}
