package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/berth-run/berth/internal/results"
)

// Table prints what stdout shows at the end of a run: how it ended, passed of total, a row per
// variant, what failed, the change since the previous run, and where everything is.
func Table(w io.Writer, f *results.Finished) error {
	var b strings.Builder
	s := &f.Summary
	b.WriteString(completion(f) + "\n")
	b.WriteString(passed(s.Metrics) + "\n\n")
	writeColumns(&b, variantRows(s))
	b.WriteString("\n")
	writeFailures(&b, f.Cases)
	for _, d := range s.VariantDeltas {
		b.WriteString(against(d) + "\n")
	}
	if s.PreviousRun != nil {
		b.WriteString(since(s.PreviousRun) + "\n")
	}
	fmt.Fprintf(&b, "Results: %s\n", f.Dir)
	_, err := io.WriteString(w, b.String())
	return err
}

func completion(f *results.Finished) string {
	s := &f.Summary
	name, took := line(s.ConfigName), duration(s.DurationMs)
	lost := lostTrials(f)
	switch {
	case f.Record.Phases.Collect == results.PhaseFailed:
		return fmt.Sprintf("%s: no trial came back after %s%s", name, took, lost)
	case lost != "":
		return fmt.Sprintf("%s: incomplete after %s%s", name, took, lost)
	default:
		return fmt.Sprintf("%s: complete in %s", name, took)
	}
}

// lostTrials says how many trials don't count, and what to do.
func lostTrials(f *results.Finished) string {
	n := f.Summary.Trials
	var parts []string
	if n.Missing > 0 {
		parts = append(parts, fmt.Sprintf("%d missing", n.Missing))
	}
	if n.Infra > 0 {
		parts = append(parts, fmt.Sprintf("%d lost to infrastructure", n.Infra))
	}
	if len(parts) == 0 {
		return ""
	}
	text := fmt.Sprintf("; of %s, %s", plural(n.Expected, "trial"), strings.Join(parts, ", "))
	if f.Record.Redacted {
		return text + " (the run can't be resumed: redactStoredResponses is true)"
	}
	return text + " (--resume collects them)"
}

func passed(m results.Metrics) string {
	if m.Ungraded > 0 {
		return fmt.Sprintf("%s collected, not graded", plural(m.Ungraded, "case"))
	}
	text := "nothing graded"
	if n := m.Passed + m.Failed; n > 0 {
		text = fmt.Sprintf("%d/%d passed (%s)", m.Passed, n, percent(m.PassRate))
	}
	if m.Incomplete > 0 {
		text += fmt.Sprintf("; %s left out as incomplete", plural(m.Incomplete, "case"))
	}
	return text
}

func variantRows(s *results.Summary) [][]string {
	rows := [][]string{{"Variant", "Passed", "Trial pass", "MCP calls", "Input tokens", "Output tokens", "Cost", "Time"}}
	for _, v := range s.Variants {
		m, t := v.Metrics, v.Telemetry
		rows = append(rows, []string{
			line(v.Name), passedOf(m), trialRate(v.Trials), count(int64(t.MCPCalls)),
			count(t.InputTokens), count(t.OutputTokens), cost(t.CostUSD), duration(t.DurationMs),
		})
	}
	return rows
}

// passedOf is "–" when no case was graded.
func passedOf(m results.Metrics) string {
	if m.Passed+m.Failed == 0 {
		return "–"
	}
	return fmt.Sprintf("%d/%d", m.Passed, m.Passed+m.Failed)
}

// trialRate is "–" when no trial was graded.
func trialRate(n results.TrialCounts) string {
	if n.Passed+n.Failed == 0 {
		return "–"
	}
	return percent(n.PassRate)
}

// writeColumns aligns names left and numbers right.
func writeColumns(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range rows {
		for i, cell := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0:
				b.WriteString(cell + pad)
			default:
				b.WriteString("  " + pad + cell)
			}
		}
		b.WriteString("\n")
	}
}

func against(d results.VariantDelta) string {
	p := d.Paired
	return fmt.Sprintf("%s against %s: %s (%d better, %d worse, %d the same; p = %.2f), %s points",
		line(d.Variant), line(d.Baseline), p.Verdict, p.Better, p.Worse, p.Same, p.PValue, points(d.PassRate))
}

// since gives no change where there is nothing to compare.
func since(p *results.PreviousRun) string {
	if !p.SameContent {
		return fmt.Sprintf("Not comparable with %s: the config or the cases have changed since", p.RunID)
	}
	text := fmt.Sprintf("Since %s: %s points (%s then)", p.RunID, points(p.PassRateDelta), percent(p.PassRate))
	if !p.SameRunner {
		text += "; it ran elsewhere then"
	}
	return text
}
