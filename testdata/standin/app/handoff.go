package app

import (
	"fmt"
	"net/url"
	"time"

	"github.com/berth-run/berth/testdata/standin/scenario"
)

// reply is what the running app tells a second start.
type reply struct {
	Error  string `json:"error,omitempty"`
	Exit   int    `json:"exit,omitempty"`
	HangMS int    `json:"hangMs,omitempty"`
	// Scenario is the one that began.
	Scenario *scenario.Scenario `json:"scenario,omitempty"`

	then func() // when it has been said
}

// open follows a link that a second start hands over: codex://new?path=…&prompt=…, answered before
// anything comes of it; chatgpt-standin://scenario?seed=N or ?file=PATH, answered when the scenario's
// splash is on screen, which with &hold=1 stays until chatgpt-standin://go. No link is a start without
// one: it shows what is there.
func (s *stage) open(link string) reply {
	u, err := url.Parse(link)
	switch {
	case err != nil:
		return reply{Error: err.Error(), Exit: 1}
	case link == "":
		return reply{}
	case u.Scheme == "codex" && u.Host == "new":
		s.later(s.life)
		return s.handOff(u.Query())
	case u.Scheme == "chatgpt-standin" && u.Host == "scenario":
		return s.restart(u.Query())
	case u.Scheme == "chatgpt-standin" && u.Host == "go":
		s.release()
		return reply{}
	}
	return reply{Error: fmt.Sprintf("no such link: %s://%s", u.Scheme, u.Host), Exit: 1}
}

func (s *stage) handOff(q url.Values) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.sc.Handoff
	s.handoffs++
	if s.handoffs <= h.After {
		h = scenario.Handoff{SettleMS: h.SettleMS}
	}
	path, prompt := q.Get("path"), q.Get("prompt")
	s.journal.log(entry{Event: "handoff", Run: s.run, Text: prompt, Path: path})
	r := reply{Exit: h.Exit, HangMS: h.HangMS}
	switch {
	case h.Crash != scenario.CrashNone:
		r.then = func() { s.crash(h.Crash) }
	case !h.Ignored:
		s.after(s.run, h.SettleMS, func() { s.route(h, path, prompt) })
	}
	return r
}

// route opens a new thread with a draft. Before the main screen there is nothing to open it in.
func (s *stage) route(h scenario.Handoff, path, prompt string) {
	if s.now.Screen != main && s.now.Screen != thread || h.Draft == scenario.DraftKept {
		s.journal.log(entry{Event: "dropped", Run: s.run, Screen: s.now.Screen, Text: prompt})
		return
	}
	switch h.Draft {
	case scenario.DraftLost:
		prompt = ""
	case scenario.DraftAltered:
		prompt = h.Altered
	}
	if s.path = path; path == "" {
		s.path = s.home
	}
	if h.Surface != "" {
		s.now.Surface = h.Surface
	}
	if s.sc.Main.Announced && prompt != "" && !s.told {
		s.held, s.told = prompt, true
		s.show(view{Screen: announcement})
		return
	}
	s.showMain(prompt, scenario.CrashNone)
	s.emptier = h.EmptiedBy
}

// drawLimit is how long the page may take to show another scenario's splash, on a machine that has much else
// to do.
const drawLimit = time.Minute

func (s *stage) restart(q url.Values) reply {
	sc, err := chosen(q)
	if err != nil {
		return reply{Error: err.Error(), Exit: 1}
	}
	select {
	case <-s.start(sc, q.Get("hold") != ""):
		return reply{Scenario: &sc}
	case <-time.After(drawLimit):
		return reply{Error: fmt.Sprintf("the page hasn't shown the splash within %v", drawLimit), Exit: 1}
	}
}

// release lets a scenario leave its splash.
func (s *stage) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letGo()
}

func chosen(q url.Values) (scenario.Scenario, error) {
	if file := q.Get("file"); file != "" {
		return scenario.Load(file)
	}
	return scenario.Parse(fmt.Appendf(nil, `{"seed": %s}`, q.Get("seed")))
}
