package app

import (
	"slices"

	"github.com/berth-run/berth/testdata/standin/scenario"
)

// take does what an event of the page asks for.
func (s *stage) take(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Control {
	case "shown":
		s.shown(e.Seq)
		return
	case "beside":
		s.joined()
		return
	}
	s.journal.log(entry{
		Event: "click", Run: s.run, Screen: s.now.Screen, Control: e.Control, Pointer: e.Pointer, Key: e.Key,
		Late: e.Seq != s.now.Seq || s.moving,
	})
	if e.Seq != s.now.Seq || s.moving || slices.Contains(s.now.Dead, e.Control) {
		return
	}
	if how := s.now.fatal[e.Control]; how != scenario.CrashNone {
		s.crash(how)
		return
	}
	if act := actions[e.Control]; act != nil {
		act(s, e)
	}
	if e.Control == s.emptier {
		s.emptier = ""
		s.journal.log(entry{Event: "setupRoute", Run: s.run})
		s.showMain("", scenario.CrashNone)
	}
}

// joined takes note that another window, or app, is there.
func (s *stage) joined() {
	s.letGo()
	select {
	case <-s.beside:
	default:
		close(s.beside)
	}
}

// shown takes note that the page has drawn a view.
func (s *stage) shown(seq int) {
	d := s.drawing[seq]
	if d == nil {
		return
	}
	delete(s.drawing, seq)
	close(d.done)
	s.journal.log(entry{Event: "screen", Run: s.run, Screen: d.view.Screen, Surface: d.view.Surface, Text: d.view.Draft})
	if d.view.crash != scenario.CrashNone && seq == s.now.Seq {
		s.crash(d.view.crash)
	}
}

// actions are what controls do, by their names in labels.json.
var actions map[string]func(*stage, event)

func init() {
	on := func(f func(*stage)) func(*stage, event) { return func(s *stage, _ event) { f(s) } }
	actions = map[string]func(*stage, event){
		"engineering":   (*stage).choose,
		"continue":      on((*stage).advance),
		"skip":          on((*stage).advance),
		"goToChatGPT":   on((*stage).advance),
		"keepSettingUp": on((*stage).back),
		"keepModel":     on((*stage).keepModel),
		"changeModel":   on((*stage).changeModel),
		"next":          on((*stage).advance),
		"work":          func(s *stage, _ event) { s.switchTo(scenario.Work) },
		"codex":         func(s *stage, _ event) { s.switchTo(scenario.Codex) },
		"send":          func(s *stage, e event) { s.send(e.Text) },
		"tryAgain":      on(func(s *stage) { s.showMain("", scenario.CrashNone) }),
	}
}

// choose takes a profession, from a pointer only.
func (s *stage) choose(e event) {
	if e.Pointer {
		s.now.Ready = true
		s.wake()
	}
}

// keepModel closes the announcement, over whatever it lies.
func (s *stage) keepModel() {
	if s.held == "" {
		s.advance()
		return
	}
	s.showMain(s.held, scenario.CrashNone)
	s.held = ""
}

// changeModel is what nobody should ask for: every later turn has another model than the config's.
func (s *stage) changeModel() {
	s.model = "gpt-next"
	s.journal.log(entry{Event: "model", Run: s.run, Text: s.model})
	s.advance()
}

// switchTo changes the surface; the draft stays. Codex is started for it when there is something to send.
func (s *stage) switchTo(to scenario.Surface) {
	s.now.Surface = to
	s.journal.log(entry{Event: "surface", Run: s.run, Surface: to})
	s.wake()
}
