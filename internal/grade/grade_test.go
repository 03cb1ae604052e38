package grade

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-run/berth/internal/trace"
)

func call(server, name, args string) trace.Event {
	return trace.Event{Kind: trace.KindToolCall, Source: trace.SourceMCP, Server: server, Name: name, Arguments: json.RawMessage(args)}
}

func record(text string, events ...trace.Event) *trace.Trace {
	return &trace.Trace{FinalText: text, Events: events, Evidence: trace.EvidenceStructured}
}

func pattern(t *testing.T, source, flags string) Pattern {
	t.Helper()
	p, err := CompilePattern(source, flags)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestText(t *testing.T) {
	for name, tc := range map[string]struct {
		a    Assertions
		text string
		want string // in the message; "" passes
	}{
		"contains":           {Assertions{ContainsText: []string{"RB-17", "disk"}}, "disk: see RB-17", ""},
		"contains not all":   {Assertions{ContainsText: []string{"RB-17", "disk"}}, "see RB-17", `doesn't contain "disk"`},
		"case matters":       {Assertions{ContainsText: []string{"Disk"}}, "disk", `"Disk"`},
		"matches":            {Assertions{MatchesPattern: []Pattern{pattern(t, `\d+\s?°C`, "m")}}, "it's 17 °C", ""},
		"line ends":          {Assertions{MatchesPattern: []Pattern{pattern(t, `^144$`, "m")}}, "so:\n144\nend", ""},
		"look-ahead":         {Assertions{MatchesPattern: []Pattern{pattern(t, `^(?!.*sorry).*$`, "m")}}, "fine", ""},
		"look-ahead, not":    {Assertions{MatchesPattern: []Pattern{pattern(t, `^(?![\s\S]*sorry)[\s\S]*$`, "")}}, "I'm\nsorry", `doesn't match /^(?!`},
		"back-reference":     {Assertions{MatchesPattern: []Pattern{pattern(t, `(\w)\1`, "m")}}, "book", ""},
		"digits are ASCII":   {Assertions{MatchesPattern: []Pattern{pattern(t, `\d`, "m")}}, "٣", "doesn't match"},
		"takes for ever":     {Assertions{MatchesPattern: []Pattern{pattern(t, `(x+x+)+y`, "m")}}, strings.Repeat("x", 40), "took longer than"},
		"nothing asserted":   {Assertions{}, "", ""},
		"both, second fails": {Assertions{ContainsText: []string{"a"}, MatchesPattern: []Pattern{pattern(t, "b", "m")}}, "a", "/b/"},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, tc.a, record(tc.text), nil, tc.want)
		})
	}
}

// check grades a trace; want is in the one failing score's message, "" is a pass.
func check(t *testing.T, a Assertions, tr *trace.Trace, m ToolMap, want string) {
	t.Helper()
	outcome, scores := Trial(a, &Attempt{Trace: tr}, m)
	var messages []string
	for _, s := range scores {
		if s.Pass != (s.Message == "") {
			t.Errorf("score %+v: a message goes with a failure", s)
		}
		messages = append(messages, s.Message)
	}
	if (outcome == Passed) != (want == "") || !strings.Contains(strings.Join(messages, "\n"), want) {
		t.Errorf("%s, %q; want …%s…", outcome, messages, want)
	}
}

func TestTools(t *testing.T) {
	two := record("", call("wiki", "search", `{"q": "disk full", "limit": 3, "opts": {"deep": true, "x": null}}`),
		call("tracker", "create", `{"ids": [1, 2, 3]}`))
	withShell := record("", call("wiki", "search", `{}`), trace.Event{Kind: trace.KindCommand, Source: trace.SourceBuiltin, Name: "shell"})
	calls := func(c ...ExpectedCall) *ToolsTriggered { return &ToolsTriggered{Calls: c} }
	args := func(name, a string) ExpectedCall { return ExpectedCall{Name: name, Arguments: json.RawMessage(a)} }
	n := func(i int) *int { return &i }
	for name, tc := range map[string]struct {
		a    Assertions
		t    *trace.Trace
		m    ToolMap
		want string
	}{
		"bare name":             {Assertions{ToolsTriggered: calls(ExpectedCall{Name: "search"})}, two, nil, ""},
		"qualified":             {Assertions{ToolsTriggered: calls(ExpectedCall{Name: "wiki.search"})}, two, nil, ""},
		"other server":          {Assertions{ToolsTriggered: calls(ExpectedCall{Name: "tracker.search"})}, two, nil, "tracker.search wasn't called; called: wiki.search, tracker.create"},
		"no calls at all":       {Assertions{ToolsTriggered: calls(ExpectedCall{Name: "search"})}, record(""), nil, "no tool was"},
		"tool map":              {Assertions{ToolsTriggered: calls(ExpectedCall{Name: "find"})}, two, ToolMap{"find": {"lookup", "wiki.search"}}, ""},
		"tool map hides":        {Assertions{ToolsTriggered: calls(ExpectedCall{Name: "search"})}, two, ToolMap{"search": {"lookup"}}, "search wasn't called"},
		"server":                {Assertions{ToolsTriggered: calls(ExpectedCall{Name: "search", Server: "tracker"})}, two, nil, "wasn't called"},
		"kind":                  {Assertions{ToolsTriggered: calls(ExpectedCall{Name: "shell", Kind: "command", Source: "builtin"})}, withShell, nil, ""},
		"arguments":             {Assertions{ToolsTriggered: calls(args("search", `{"limit": 3.0, "opts": {"deep": true}}`))}, two, nil, ""},
		"null argument":         {Assertions{ToolsTriggered: calls(args("search", `{"opts": {"x": null}}`))}, two, nil, ""},
		"null isn't absent":     {Assertions{ToolsTriggered: calls(args("search", `{"nope": null}`))}, two, nil, "with arguments"},
		"argument differs":      {Assertions{ToolsTriggered: calls(args("search", `{"limit": 4}`))}, two, nil, `wasn't called with arguments {"limit": 4}`},
		"argument pattern":      {Assertions{ToolsTriggered: calls(args("search", `{"q": {"$pattern": "^DISK", "$flags": "i"}}`))}, two, nil, ""},
		"argument pattern, not": {Assertions{ToolsTriggered: calls(args("search", `{"q": {"$pattern": "^DISK"}}`))}, two, nil, "wasn't called"},
		"list prefix":           {Assertions{ToolsTriggered: calls(args("create", `{"ids": [1, 2]}`))}, two, nil, ""},
		"list too long":         {Assertions{ToolsTriggered: calls(args("create", `{"ids": [1, 2, 3, 4]}`))}, two, nil, "wasn't called"},
		"any order":             {Assertions{ToolsTriggered: calls(ExpectedCall{Name: "create"}, ExpectedCall{Name: "search"})}, two, nil, ""},
		"strict":                {Assertions{ToolsTriggered: &ToolsTriggered{Order: OrderStrict, Calls: []ExpectedCall{{Name: "search"}, {Name: "create"}}}}, two, nil, ""},
		"strict, wrong":         {Assertions{ToolsTriggered: &ToolsTriggered{Order: OrderStrict, Calls: []ExpectedCall{{Name: "create"}, {Name: "search"}}}}, two, nil, "but not after the calls before it"},
		"strict, twice":         {Assertions{ToolsTriggered: &ToolsTriggered{Order: OrderStrict, Calls: []ExpectedCall{{Name: "search"}, {Name: "search"}}}}, two, nil, "but not after"},
		"strict, optional":      {Assertions{ToolsTriggered: &ToolsTriggered{Order: OrderStrict, Calls: []ExpectedCall{{Name: "search"}, {Name: "nope", Optional: true}, {Name: "create"}}}}, two, nil, ""},
		"exclusive":             {Assertions{ToolsTriggered: &ToolsTriggered{Exclusive: true, Calls: []ExpectedCall{{Name: "search"}, {Name: "create"}}}}, two, nil, ""},
		"exclusive, not":        {Assertions{ToolsTriggered: &ToolsTriggered{Exclusive: true, Calls: []ExpectedCall{{Name: "search"}}}}, two, nil, "besides the expected tools: tracker.create"},
		"exclusive, optional":   {Assertions{ToolsTriggered: &ToolsTriggered{Exclusive: true, Calls: []ExpectedCall{{Name: "search"}, {Name: "create", Optional: true}}}}, two, nil, ""},
		"exclusive, any kind":   {Assertions{ToolsTriggered: &ToolsTriggered{Exclusive: true, Calls: []ExpectedCall{{Name: "search"}}}}, withShell, nil, "shell"},
		"count":                 {Assertions{ToolCallCount: &ToolCallCount{Exact: n(2)}}, two, nil, ""},
		"count of tools only":   {Assertions{ToolCallCount: &ToolCallCount{Exact: n(1)}}, withShell, nil, ""},
		"count 0":               {Assertions{ToolCallCount: &ToolCallCount{Exact: n(0)}}, two, nil, "2 tool calls, not exactly 0"},
		"too few":               {Assertions{ToolCallCount: &ToolCallCount{Min: n(3)}}, two, nil, "fewer than 3"},
		"too many":              {Assertions{ToolCallCount: &ToolCallCount{Min: n(1), Max: n(1)}}, two, nil, "more than 1"},
		"no evidence":           {Assertions{ToolsTriggered: calls(ExpectedCall{Name: "x", Optional: true})}, &trace.Trace{Evidence: trace.EvidenceObserved}, nil, `the evidence is "observed"`},
		"no evidence, count":    {Assertions{ToolCallCount: &ToolCallCount{Exact: n(0)}}, &trace.Trace{Evidence: trace.EvidenceNone}, nil, `the evidence is "none"`},
	} {
		t.Run(name, func(t *testing.T) { check(t, tc.a, tc.t, tc.m, tc.want) })
	}
}

func TestAccuracy(t *testing.T) {
	a := &ToolsTriggered{Calls: []ExpectedCall{{Name: "search"}, {Name: "create"}, {Name: "extra", Optional: true}}}
	s := toolsTriggered(a, record("", call("w", "search", ""), call("w", "other", ""), call("w", "extra", ""), call("w", "search", "")), nil)
	if s.Metrics["precision"] != 0.75 || s.Metrics["recall"] != 0.5 {
		t.Errorf("metrics %v", s.Metrics)
	}
}

// The answer and tool outputs never get into a message, which is stored when they are not.
func TestMessagesQuoteNoAnswer(t *testing.T) {
	tr := record("TOPSECRET", trace.Event{Kind: trace.KindToolCall, Name: "t", Output: json.RawMessage(`"TOPSECRET"`)})
	one := 0
	a := Assertions{ContainsText: []string{"x"}, MatchesPattern: []Pattern{pattern(t, "x", "m")},
		ToolsTriggered: &ToolsTriggered{Calls: []ExpectedCall{{Name: "x"}}}, ToolCallCount: &ToolCallCount{Exact: &one}}
	_, scores := Trial(a, &Attempt{Trace: tr}, nil)
	if len(scores) != 4 {
		t.Fatalf("%d scores", len(scores))
	}
	for _, s := range scores {
		if s.Pass || strings.Contains(s.Message, "TOPSECRET") {
			t.Errorf("%+v", s)
		}
	}
}

func TestTrialOutcome(t *testing.T) {
	for name, tc := range map[string]struct {
		at   *Attempt
		want Outcome
	}{
		"missing":            {nil, Missing},
		"infra":              {&Attempt{Infrastructure: true, Error: "x", Trace: record("ok")}, Infra},
		"error":              {&Attempt{Error: "timeout: x", Trace: record("ok")}, Failed},
		"no trace":           {&Attempt{}, Failed},
		"error in the trace": {&Attempt{Trace: &trace.Trace{Error: "x"}}, Failed},
		"answered":           {&Attempt{Trace: record("ok")}, Passed},
	} {
		if got, _ := Trial(Assertions{}, tc.at, nil); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestJudge(t *testing.T) {
	p, f, i, m, u := Passed, Failed, Infra, Missing, Ungraded
	for name, tc := range map[string]struct {
		trials    []Outcome
		threshold float64
		want      Outcome
		rate      float64
	}{
		"all passed":            {[]Outcome{p, p}, 1, Passed, 1},
		"one failed":            {[]Outcome{p, f}, 1, Failed, 0.5},
		"on the threshold":      {[]Outcome{p, p, p, p, p, p, p, f, f, f}, 0.7, Passed, 0.7},
		"two thirds of 0.66":    {[]Outcome{p, p, f}, 0.66, Passed, 2.0 / 3},
		"under the threshold":   {[]Outcome{p, f, f}, 0.66, Failed, 1.0 / 3},
		"threshold 0":           {[]Outcome{f}, 0, Passed, 0},
		"infra left out":        {[]Outcome{p, i}, 1, Passed, 1},
		"infra only":            {[]Outcome{i, i}, 0, Missing, 0},
		"missing is incomplete": {[]Outcome{p, m}, 0.5, Missing, 1},
		"failed and missing":    {[]Outcome{f, m}, 1, Missing, 0},
		"ungraded":              {[]Outcome{u, u}, 1, Ungraded, 0},
		"ungraded and missing":  {[]Outcome{u, m}, 1, Missing, 0},
		"nothing":               {nil, 0, Missing, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := Judge(tc.trials, tc.threshold)
			if c.Outcome != tc.want || c.PassRate != tc.rate {
				t.Errorf("got %v, rate %v", c, c.PassRate)
			}
		})
	}
}

func TestJudgeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := rapid.SliceOf(rapid.SampledFrom([]Outcome{Passed, Failed, Infra, Missing})).Draw(t, "trials")
		threshold := rapid.Float64Range(0, 1).Draw(t, "threshold")
		c := Judge(trials, threshold)
		if c.Graded+c.Infra+c.Missing != len(trials) || c.Passed > c.Graded {
			t.Fatalf("counts don't add up: %v", c)
		}
		if better := Judge(append(trials, Passed), threshold); c.Outcome == Passed && better.Outcome != Passed {
			t.Fatalf("one more passed trial made %v into %v", c, better)
		}
	})
}

func TestCompilePattern(t *testing.T) {
	if _, err := CompilePattern("(", ""); err == nil {
		t.Error("an open group was taken")
	}
	if _, err := CompilePattern("a", "x"); err == nil {
		t.Error("flag x was taken")
	}
	if m, err := pattern(t, "a.b", "s").Match("a\nb"); !m || err != nil {
		t.Errorf("flag s: %v %v", m, err)
	}
}
