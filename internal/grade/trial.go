package grade

import "github.com/berth-run/berth/internal/trace"

// Score is one grader's word on one trial. Message says why it didn't pass; it quotes the dataset
// and names of tools, never the app's answer or a tool's output, so it may be stored when responses
// are redacted.
type Score struct {
	Grader  string             `json:"-"`
	Pass    bool               `json:"pass"`
	Message string             `json:"message,omitempty"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

// Outcome of one trial.
type Outcome string

// Outcomes. Only Passed and Failed count in a pass rate.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Infra   Outcome = "infra"
	Missing Outcome = "missing"
	// Ungraded: the trial has been collected and not graded, for `--no-grade`.
	Ungraded Outcome = "ungraded"
)

// Attempt is a trial as collected; nil stands for one that didn't come back.
type Attempt struct {
	Trace *trace.Trace
	// Error is what the app or berth failed with, "" when it answered.
	Error string
	// Infrastructure: the failure says nothing about the app.
	Infrastructure bool
}

// Trial grades one attempt. A trial that ended with an error fails whatever it left; its graders
// aren't asked.
func Trial(a Assertions, at *Attempt, m ToolMap) (Outcome, []Score) {
	switch {
	case at == nil:
		return Missing, nil
	case at.Infrastructure:
		return Infra, nil
	case at.Error != "" || at.Trace == nil || at.Trace.Error != "":
		return Failed, nil
	}
	scores := a.scores(at.Trace, m)
	for _, s := range scores {
		if !s.Pass {
			return Failed, scores
		}
	}
	return Passed, scores
}

func (a Assertions) scores(t *trace.Trace, m ToolMap) []Score {
	var scores []Score
	if len(a.ContainsText) > 0 {
		scores = append(scores, containsText(a.ContainsText, t.FinalText))
	}
	if len(a.MatchesPattern) > 0 {
		scores = append(scores, matchesPattern(a.MatchesPattern, t.FinalText))
	}
	if a.ToolsTriggered != nil {
		scores = append(scores, toolsTriggered(a.ToolsTriggered, t, m))
	}
	if a.ToolCallCount != nil {
		scores = append(scores, toolCallCount(a.ToolCallCount, t))
	}
	return scores
}

// Case is what the trials of one case in one variant come to.
type Case struct {
	// Outcome is Passed, Failed, Missing when a trial is missing or infrastructure left none to
	// grade, or Ungraded.
	Outcome Outcome
	// Graded counts the trials that passed or failed, Passed those that passed.
	Graded, Passed, Infra, Missing int
	// PassRate is Passed of Graded; 0 when none was graded.
	PassRate float64
}

// Judge puts a case's trials together; threshold is the share of graded trials that must pass.
func Judge(trials []Outcome, threshold float64) Case {
	var c Case
	ungraded := false
	for _, o := range trials {
		switch o {
		case Passed:
			c.Passed++
			c.Graded++
		case Failed:
			c.Graded++
		case Infra:
			c.Infra++
		case Ungraded:
			ungraded = true
		default:
			c.Missing++
		}
	}
	if c.Graded > 0 {
		c.PassRate = float64(c.Passed) / float64(c.Graded)
	}
	switch {
	case c.Missing > 0, c.Graded == 0 && !ungraded:
		c.Outcome = Missing
	case ungraded:
		c.Outcome = Ungraded
	case c.PassRate >= threshold-tolerance:
		c.Outcome = Passed
	default:
		c.Outcome = Failed
	}
	return c
}

// tolerance keeps a rate such as 0.7, which is 7 of 10, on its threshold despite binary fractions.
const tolerance = 1e-9
