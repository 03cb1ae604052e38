package report

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/berth-run/berth/internal/grade"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/shardproto"
)

// page is what the template shows, every number already text.
type page struct {
	Title, RunID, Created, Headline, Sub string
	// Status is passed, failed or incomplete; it picks a colour beside the words.
	Status   string
	Badges   []string
	Notes    []string
	Compared []comparison
	Previous string
	Variants []variantRow
	Names    []string
	Differs  []differRow
	Cases    []caseRow
	Reasons  []reason
	Facts    []fact
}

type comparison struct {
	Variant, Baseline, Verdict, Text string
	Better, Same, Worse              int
}

type variantRow struct {
	Name, Client, Model, Passed, Rate, Trials, MCP, Input, Output, Cost, Time string
	Width                                                                     float64
	Baseline                                                                  bool
}

type differRow struct {
	Setting string
	Values  []string
}

type caseRow struct {
	Anchor, ID, Input, Dataset string
	Tags                       []string
	Cells                      []cell
	Failed, Differs            bool
}

type cell struct {
	Variant, Outcome, Text string
	Trials                 []trialRow
}

type trialRow struct {
	Anchor, Outcome, Time, Error string
	Number                       int
	Scores                       []scoreRow
	Events                       []eventRow
	Answer                       string
}

type scoreRow struct {
	Grader, Message string
	Pass            bool
}

type eventRow struct {
	Name, Kind, Arguments, Output string
	IsError                       bool
}

type reason struct {
	Text   string
	Trials []link
}

type link struct{ Anchor, Text string }

type fact struct{ Name, Value string }

func newPage(f *results.Finished) page {
	s := &f.Summary
	p := page{
		Title: f.Record.EvalName, RunID: s.RunID, Created: f.Record.CreatedAt,
		Headline: passed(s.Metrics), Sub: fmt.Sprintf("%s × %s, %s", plural(caseCount(f), "case"), plural(len(s.Variants), "variant"), duration(s.DurationMs)),
		Status: status(s), Notes: notes(f), Badges: badges(f), Facts: facts(f),
	}
	if s.PreviousRun != nil {
		p.Previous = since(s.PreviousRun)
	}
	for _, d := range s.VariantDeltas {
		p.Compared = append(p.Compared, comparison{d.Variant, d.Baseline, d.Paired.Verdict, against(d), d.Paired.Better, d.Paired.Same, d.Paired.Worse})
	}
	for _, v := range s.Variants {
		p.Names = append(p.Names, v.Name)
		p.Variants = append(p.Variants, newVariantRow(v, f.Record.Baseline))
	}
	p.Differs = differs(f.Record.Variants)
	p.Cases = caseRows(f)
	p.Reasons = reasons(p.Cases)
	return p
}

func caseCount(f *results.Finished) int {
	if n := len(f.Summary.Variants); n > 0 {
		return len(f.Cases) / n
	}
	return 0
}

func status(s *results.Summary) string {
	switch ExitCode(s) {
	case ExitPassed:
		return "passed"
	case ExitFailed:
		return "failed"
	default:
		return "incomplete"
	}
}

func badges(f *results.Finished) []string {
	var b []string
	if f.Record.Redacted {
		b = append(b, "responses redacted")
	}
	if f.Record.Partial {
		b = append(b, "partial run")
	}
	if f.Record.Phases.Collect != results.Complete {
		b = append(b, "collect: "+f.Record.Phases.Collect)
	}
	return b
}

// notes are whole sentences on what the reader should know before the numbers.
func notes(f *results.Finished) []string {
	var n []string
	if lost := lostTrials(f); lost != "" {
		n = append(n, "Incomplete"+lost+". Cases with a missing trial, or with none left to grade, are left out of every rate.")
	}
	if r := f.Record.Runner; r != nil && len(r.NotEnforced) > 0 {
		n = append(n, "Not in force on this host: "+strings.Join(r.NotEnforced, ", ")+" (limits=best-effort).")
	}
	return n
}

func newVariantRow(v results.VariantSummary, baseline string) variantRow {
	t, m := v.Telemetry, v.Metrics
	return variantRow{
		Name: v.Name, Client: v.Client, Model: v.Model, Baseline: v.Name == baseline,
		Passed: passedOf(m), Rate: caseRate(m), Width: m.PassRate * 100,
		Trials: trialRate(v.Trials), MCP: count(int64(t.MCPCalls)), Input: count(t.InputTokens), Output: count(t.OutputTokens),
		Cost: cost(t.CostUSD), Time: duration(t.DurationMs),
	}
}

// caseRate is empty when no case was graded.
func caseRate(m results.Metrics) string {
	if m.Passed+m.Failed == 0 {
		return ""
	}
	return percent(m.PassRate)
}

// differs are the settings that aren't the same in every variant.
func differs(vs []results.VariantRecord) []differRow {
	settings := []struct {
		name string
		of   func(results.VariantRecord) string
	}{
		{"Description", func(v results.VariantRecord) string { return v.Description }},
		{"Client", func(v results.VariantRecord) string { return v.Client }},
		{"Model", func(v results.VariantRecord) string { return v.Model }},
		{"Servers", servers},
		{"Client options", func(v results.VariantRecord) string { return string(v.ClientOptions) }},
		{"Input template", func(v results.VariantRecord) string { return v.InputTemplate }},
		{"Tool map", toolMap},
	}
	var rows []differRow
	for _, s := range settings {
		row := differRow{Setting: s.name}
		same := true
		for _, v := range vs {
			value := s.of(v)
			same = same && (len(row.Values) == 0 || value == row.Values[0])
			row.Values = append(row.Values, value)
		}
		if !same {
			rows = append(rows, row)
		}
	}
	return rows
}

func servers(v results.VariantRecord) string {
	if len(v.Servers) == 0 {
		return "none"
	}
	var labels []string
	for _, s := range v.Servers {
		labels = append(labels, s.Label)
	}
	return strings.Join(labels, ", ")
}

func toolMap(v results.VariantRecord) string {
	if len(v.ToolMap) == 0 {
		return ""
	}
	raw, err := json.Marshal(v.ToolMap)
	if err != nil {
		return ""
	}
	return string(raw)
}

// caseRows puts the variants' results of a case side by side, in the order of the cases.
func caseRows(f *results.Finished) []caseRow {
	var rows []caseRow
	at := map[string]int{}
	for _, c := range f.Cases {
		i, ok := at[c.ID]
		if !ok {
			i = len(rows)
			at[c.ID] = i
			rows = append(rows, caseRow{Anchor: fmt.Sprintf("case-%d", i), ID: c.ID, Input: c.Input, Dataset: c.DatasetName, Tags: c.Tags})
		}
		r := &rows[i]
		r.Cells = append(r.Cells, newCell(f, c, fmt.Sprintf("%s-%d", r.Anchor, len(r.Cells))))
		r.Failed = r.Failed || c.Outcome != string(grade.Passed)
		r.Differs = r.Differs || c.Outcome != r.Cells[0].Outcome
	}
	return rows
}

func newCell(f *results.Finished, c results.CaseResult, anchor string) cell {
	out := cell{Variant: c.Variant, Outcome: c.Outcome, Text: cellText(c)}
	for _, t := range c.TrialResults {
		k := shardproto.Key{Variant: c.Variant, CaseID: c.ID, Trial: t.Trial}
		row := trialRow{Anchor: fmt.Sprintf("%s-%d", anchor, t.Trial), Number: t.Trial, Outcome: t.Outcome, Error: trialError(t), Scores: scoreRows(t.Assertions)}
		if tr := f.Trials[k]; tr != nil {
			row.Time = duration(tr.DurationMs)
			row.Events, row.Answer = traceRows(tr)
		}
		out.Trials = append(out.Trials, row)
	}
	return out
}

func cellText(c results.CaseResult) string {
	word := c.Outcome
	if word == string(grade.Missing) {
		word = "incomplete"
	}
	if len(c.TrialResults) == 1 || c.Graded == 0 {
		return word
	}
	return fmt.Sprintf("%s %d/%d", word, c.Passed, c.Graded)
}

func scoreRows(scores map[string]results.ScoreBody) []scoreRow {
	var rows []scoreRow
	for g, s := range scores {
		rows = append(rows, scoreRow{g, s.Message, s.Pass})
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Grader < rows[j].Grader })
	return rows
}

// Most that the page shows of one answer, argument or output, in bytes; the files have all of it.
const (
	maxAnswer = 16 << 10
	maxDetail = 4 << 10
)

func traceRows(t *results.Trial) ([]eventRow, string) {
	if t.Trace == nil {
		return nil, ""
	}
	var rows []eventRow
	for _, e := range t.Trace.Events {
		name := e.Name
		if e.Server != "" {
			name = e.Server + "." + e.Name
		}
		rows = append(rows, eventRow{name, e.Kind, shorten(string(e.Arguments), maxDetail), shorten(string(e.Output), maxDetail), e.IsError})
	}
	return rows, shorten(t.Trace.FinalText, maxAnswer)
}

func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + fmt.Sprintf("… (%s more)", plural(len(s)-n, "byte"))
}

// reasons groups the trials that didn't pass by what is said of them, most frequent first.
func reasons(cases []caseRow) []reason {
	var out []reason
	at := map[string]int{}
	for _, c := range cases {
		for _, v := range c.Cells {
			for _, t := range v.Trials {
				for _, text := range t.why() {
					i, ok := at[text]
					if !ok {
						i = len(out)
						at[text] = i
						out = append(out, reason{Text: text})
					}
					out[i].Trials = append(out[i].Trials, link{t.Anchor, fmt.Sprintf("%s / %s #%d", v.Variant, c.ID, t.Number)})
				}
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return len(out[i].Trials) > len(out[j].Trials) })
	return out
}

func (t *trialRow) why() []string {
	switch grade.Outcome(t.Outcome) {
	case grade.Passed, grade.Ungraded:
		return nil
	case grade.Missing:
		return []string{"missing: the trial didn't come back"}
	}
	if t.Error != "" {
		return []string{t.Error}
	}
	var out []string
	for _, s := range t.Scores {
		if !s.Pass {
			out = append(out, s.Grader+": "+s.Message)
		}
	}
	if len(out) == 0 {
		out = []string{"the app reported an error"}
	}
	return out
}
