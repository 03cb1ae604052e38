package app

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/berth-run/berth/testdata/standin/scenario"
)

// besides is what a scenario has beside the app's window. What is there from the start the splash waits for.
type besides struct {
	web     *web
	profile string
	config  Config
	kind    scenario.Besides
	once    sync.Once

	mu      sync.Mutex
	started []*browser
	ended   bool
}

// with has it opened when its time has come.
func (b *besides) with(s *stage, drawn <-chan struct{}) {
	switch {
	case b.kind == "":
	case b.kind.FromStart():
		go b.start(s.life, drawn)
	default:
		s.later = func(ctx context.Context) {
			b.once.Do(func() { b.start(ctx, drawn) })
			select {
			case <-s.beside:
			case <-ctx.Done():
			}
		}
	}
}

// start opens it when the app's own window has drawn its splash: a window joins the browser that runs.
func (b *besides) start(ctx context.Context, drawn <-chan struct{}) {
	select {
	case <-drawn:
	case <-ctx.Done():
		return
	}
	data := "Another"
	if b.kind == scenario.BesidesWindow || b.kind == scenario.BesidesTwin {
		data = "Chromium"
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
