package app

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/berth-run/berth/testdata/standin/engine"
	"github.com/berth-run/berth/testdata/standin/scenario"
)

// originators are who the real app tells Codex that it is, on each surface.
var originators = map[scenario.Surface]string{
	scenario.Work:  "codex_work_desktop",
	scenario.Codex: "Codex Desktop",
}

// send shows the prompt as a thread and starts its turn.
func (s *stage) send(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	s.journal.log(entry{Event: "send", Run: s.run, Surface: s.now.Surface, Text: text, Path: s.path})
	how := s.sc.Send
	if how.Crash != scenario.CrashNone && how.BegunMS == 0 {
		s.crash(how.Crash)
		return
	}
	p := engine.Prompt{
		Originator: cmp.Or(how.Originator, originators[s.now.Surface]), Path: s.path, Text: recorded(text, how.Prompt),
		Model: cmp.Or(how.Model, s.model), Effort: how.Effort,
	}
	s.show(view{Screen: thread, Messages: []said{{From: "you", Text: text}}})
	run, seq := s.run, s.now.Seq
	s.after(run, s.sc.Send.DelayMS, func() { go s.turn(run, seq, p) })
}

func (s *stage) turn(run, seq int, p engine.Prompt) {
	s.mu.Lock()
	how := s.sc.Send
	s.mu.Unlock()
	var forge *forger
	var err error
	if how.Record != scenario.RecordWritten {
		if forge, err = newForger(how.Record, s.home, p.Text); err != nil {
			s.fail(run, err)
			return
		}
		p.Home = forge.elsewhere
	}
	done := make(chan struct{})
	ended := sync.OnceFunc(func() { close(done) })
	id, err := s.engine.Send(s.life, p, func(u engine.Update) {
		s.update(run, seq, u)
		if u.Done {
			ended()
		}
	})
	if err != nil {
		s.fail(run, err)
		return
	}
	s.journal.log(entry{Event: "turn", Run: run, Thread: id, Path: p.Path})
	s.begun(run, how)
	if forge == nil {
		return
	}
	select {
	case <-done:
		if err := forge.publish(s.life, id); err != nil {
			s.fail(run, err)
		}
	case <-s.life.Done():
	}
}

// begun does what a scenario wants of a turn that has begun.
func (s *stage) begun(run int, how scenario.Send) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case how.Crash != scenario.CrashNone:
		s.after(run, how.BegunMS, func() { s.crash(how.Crash) })
	case how.Asks != "":
		s.show(view{Screen: screen(how.Asks)})
	}
}

// update shows what a turn did, if its thread is still on screen.
func (s *stage) update(run, seq int, u engine.Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.Done {
		s.journal.log(entry{Event: "done", Run: run, Text: u.Error})
	}
	if s.run != run || s.now.Seq != seq {
		return
	}
	add := said{From: "model", Text: u.Text}
	if u.Done {
		add = said{From: "app", Text: u.Error}
	}
	if add.Text != "" {
		s.now.Messages = append(slices.Clone(s.now.Messages), add)
		s.wake()
	}
}

// ready has Codex run for the surface that the app begins with.
func (s *stage) ready(surface scenario.Surface) {
	e := entry{Event: "codex", Surface: surface}
	if err := s.engine.Ensure(s.life, originators[surface], ""); err != nil {
		e.Text = err.Error() // whoever sends something is told
	}
	s.journal.log(e)
}

// lost shows that Codex has ended.
func (s *stage) lost(err error) {
	s.mu.Lock()
	run := s.run
	s.mu.Unlock()
	s.fail(run, err)
}

// fail shows that Codex can't go on.
func (s *stage) fail(run int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal.log(entry{Event: "failed", Run: run, Text: err.Error()})
	if s.run == run {
		s.show(view{Screen: broken, Title: err.Error()})
	}
}

// recorded is a prompt as Codex gets it.
func recorded(text string, how scenario.Prompt) string {
	switch how {
	case scenario.PromptNewline:
		return text + "\n"
	case scenario.PromptEscaped:
		return escaper.Replace(text)
	}
	return text
}

var escaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `<`, `\<`, `>`, `\>`, `#`, `\#`)
