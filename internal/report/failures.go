package report

import (
	"fmt"
	"strings"

	"github.com/berth-run/berth/internal/grade"
	"github.com/berth-run/berth/internal/results"
)

// Most that the table names; the page has all.
const (
	maxFailed  = 10
	maxLost    = 5
	maxMessage = 200 // bytes
)

// writeFailures names the cases that failed and the trials that infrastructure lost, a line each.
func writeFailures(b *strings.Builder, cases []results.CaseResult) {
	var failed, lost []string
	for i := range cases {
		c := &cases[i]
		name := line(c.Variant) + "/" + line(c.ID)
		if c.Outcome == string(grade.Failed) {
			failed = append(failed, fmt.Sprintf("failed: %s: %s", name, short(caseFailure(c))))
		}
		for _, t := range c.TrialResults {
			if t.Outcome == string(grade.Infra) {
				lost = append(lost, fmt.Sprintf("lost: %s #%d: %s", name, t.Trial, short(trialError(t))))
			}
		}
	}
	writeSome(b, failed, maxFailed)
	writeSome(b, lost, maxLost)
	if len(failed)+len(lost) > 0 {
		b.WriteString("\n")
	}
}

func writeSome(b *strings.Builder, lines []string, most int) {
	for _, l := range lines[:min(len(lines), most)] {
		b.WriteString(l + "\n")
	}
	if n := len(lines) - most; n > 0 {
		fmt.Fprintf(b, "… and %d more\n", n)
	}
}

// caseFailure is what is said of the first trial of a case that failed.
func caseFailure(c *results.CaseResult) string {
	for _, t := range c.TrialResults {
		if t.Outcome != string(grade.Failed) {
			continue
		}
		if text := trialError(t); text != "" {
			return text
		}
		for _, s := range scoreRows(t.Assertions) {
			if !s.Pass {
				return s.Message
			}
		}
	}
	return "the app reported an error"
}

// trialError is a trial's error behind its code; "" without either.
func trialError(t results.TrialResult) string {
	switch {
	case t.FailureCode == "" || strings.HasPrefix(t.Error, t.FailureCode):
		return t.Error
	case t.Error == "":
		return t.FailureCode
	}
	return t.FailureCode + ": " + t.Error
}

// short is text as the rest of a line.
func short(text string) string {
	text = line(strings.Join(strings.Fields(text), " "))
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}
