package chatgpt

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/codexconfig"
	"github.com/berth-run/berth/session/client/evidence"
	"github.com/berth-run/berth/session/client/turn"
)

// steps are those of the batch that bear on its present app: how it was brought up, and how things are now.
func (s *batch) steps() []evidence.Step {
	var all []evidence.Step
	for _, e := range s.life.events {
		all = append(all, evidence.Step{At: e.began(), What: evidence.Timed, Name: e.Operation, Ms: e.Ms, Error: e.Error})
	}
	for _, server := range s.readiness.MCPPreflight {
		if server.Status != "ready" {
			all = append(all, evidence.Step{At: time.Now(), What: evidence.Server, Name: server.Label, Ms: float64(server.ElapsedMs), Text: server.Error})
		}
	}
	all = append(all, s.handoffs...)
	all = append(all, ofReceipt(&s.prepared)...)
	return append(all, s.endings()...)
}

// endings say what of the app's surroundings isn't there any more.
func (s *batch) endings() []evidence.Step {
	now := time.Now()
	var all []evidence.Step
	if s.desktop != nil && s.desktop.Err() != nil {
		return append(all, evidence.Step{At: now, What: evidence.Ended, Name: "desktop", Text: s.desktop.Err().Error()})
	}
	if s.app != nil && s.app.process.Exit() != "" {
		all = append(all, evidence.Step{At: now, What: evidence.Ended, Name: "app", Text: s.app.process.Exit()})
	}
	if s.desktop == nil {
		return all
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookLimit)
	defer cancel()
	if err := s.client.keyring.check(ctx, s.desktop.Bus()); err != nil {
		all = append(all, evidence.Step{At: now, What: evidence.Keyring, Text: code.Detail(err)})
	}
	return all
}

// ofReceipt is what the driver did and saw.
func ofReceipt(r *driver.Receipt) []evidence.Step {
	if r == nil {
		return nil
	}
	var all []evidence.Step
	for _, s := range r.Seen {
		all = append(all, evidence.Step{At: s.At, What: evidence.Screen, Name: s.Screen})
	}
	for _, a := range r.Steps {
		all = append(all, evidence.Step{At: a.At, What: evidence.Action, Screen: a.Step, Role: a.Role, Name: a.Name, Action: a.Action, Error: a.Error})
	}
	if r.DraftState != nil {
		body, err := json.Marshal(r.DraftState)
		if err == nil { // it's numbers and known labels
			all = append(all, evidence.Step{At: time.Now(), What: evidence.Draft, Draft: body})
		}
	}
	return all
}

// steps are the trial's, with what led to it.
func (r *run) allSteps() []evidence.Step {
	all := append(r.s.steps(), r.timings...)
	all = append(all, ofReceipt(r.receipt)...)
	if r.binder != nil && r.submitted {
		var records []evidence.Record
		for _, o := range r.binder.Others(r.bound) {
			records = append(records, evidence.Record(o))
		}
		all = append(all, evidence.Step{At: time.Now(), What: evidence.Records, Records: records})
	}
	slices.SortStableFunc(all, func(a, b evidence.Step) int { return a.At.Compare(b.At) })
	return slices.Insert(all, 0, evidence.Step{At: r.start, What: evidence.Asked, Trial: r.asked()})
}

func (r *run) asked() *evidence.Trial {
	b := r.s.batch
	prompt := cmp.Or(r.prompt, r.trial.Prompt) // with a marker in it, if there is one
	return &evidence.Trial{
		CaseID: r.trial.CaseID, Trial: r.trial.Trial, Surface: string(r.s.settings.Surface), Model: b.Model,
		Effort: r.s.settings.ReasoningEffort, Originator: originator(r.s.settings.Surface),
		Servers: append([]string{}, codexconfig.Labels(b.Servers)...), RequireMCPCalls: r.s.settings.RequireMCPCalls,
		PromptSHA256: turn.SHA256(prompt), PromptLength: utf8.RuneCountInString(prompt),
		TimeoutMs: r.s.settings.Timeout().Milliseconds(),
	}
}

// keepSteps keeps them, as far as that goes.
func keepSteps(f *evidence.Folder, steps []evidence.Step) {
	_, _ = f.Text(evidence.StepsFile, func(w io.Writer) error { return evidence.WriteSteps(w, steps) })
}

// handedOff notes how a second start went.
func (s *batch) handedOff(at time.Time, how string, err error) {
	s.handoffs = append(s.handoffs, evidence.Step{
		At: at, What: evidence.Handoff, Ms: milliseconds(time.Since(at)), Text: how, Error: code.Of(err),
	})
}

// exitOf is how a second start ended.
func exitOf(exit string, err error) string {
	if err != nil {
		return cmp.Or(exit, "it was ended: "+err.Error())
	}
	return exit
}
