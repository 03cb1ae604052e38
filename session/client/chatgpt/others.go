package chatgpt

import (
	"strings"

	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client"
)

// said is what one trial put on the app's screen.
type said struct{ prompt, answer string }

// others is what mustn't be in a trial's evidence though it's no secret: what the batch's other trials
// asked and were answered, which an app may still show, and the values of the user's variables. Texts that
// are too short to be known again aren't taken out.
func (s *batch) others(t client.Trial) *redact.Set {
	set := &redact.Set{}
	for _, value := range s.settings.Env {
		set.Add(value)
	}
	for _, one := range s.said {
		for _, text := range []string{one.prompt, one.answer} {
			for _, line := range append(strings.Split(text, "\n"), text, strings.Join(strings.Fields(text), " ")) {
				if line = strings.TrimSpace(line); line != "" && !strings.Contains(t.Prompt, line) {
					set.Add(line)
				}
			}
		}
	}
	return set
}

// note remembers a trial for those that come after it.
func (r *run) note() {
	one := said{prompt: r.trial.Prompt}
	if r.bound != nil {
		one.answer = r.bound.Turn.FinalText()
	}
	r.s.said = append(r.s.said, one)
}
