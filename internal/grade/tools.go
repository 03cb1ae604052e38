package grade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-run/berth/internal/trace"
)

// evidenceProblem says why a trace can't carry assertions on tools, "" when it can: only the app's
// own structured record counts, never what was seen on a screen.
func evidenceProblem(t *trace.Trace) string {
	if t.Evidence == "" || t.Evidence == trace.EvidenceStructured {
		return ""
	}
	return fmt.Sprintf("the evidence is %q; assertions on tools need the app's own record", t.Evidence)
}

// named tells whether e is the call that want names, arguments aside.
func named(e *trace.Event, want *ExpectedCall, m ToolMap) bool {
	names := m[want.Name]
	if names == nil {
		names = []string{want.Name}
	}
	hit := slices.Contains(names, e.Name) ||
		e.Server != "" && slices.Contains(names, e.Server+"."+e.Name)
	return hit &&
		(want.Kind == "" || want.Kind == e.Kind) &&
		(want.Source == "" || want.Source == e.Source) &&
		(want.Server == "" || want.Server == e.Server)
}

// find gives the index of the first event from start on that is want, or -1.
func find(events []trace.Event, want *ExpectedCall, m ToolMap, start int) int {
	for i := start; i < len(events); i++ {
		if !named(&events[i], want, m) {
			continue
		}
		if want.Arguments != nil && !contains(arguments(&events[i]), decode(want.Arguments)) {
			continue
		}
		return i
	}
	return -1
}

// arguments are an event's; a call that has none recorded has an empty object.
func arguments(e *trace.Event) any {
	if v := decode(e.Arguments); v != nil {
		return v
	}
	return map[string]any{}
}

func toolsTriggered(a *ToolsTriggered, t *trace.Trace, m ToolMap) Score {
	s := Score{Grader: GraderToolsTriggered, Metrics: accuracy(a, t.Events, m)}
	switch {
	case evidenceProblem(t) != "":
		s.Message, s.Metrics = evidenceProblem(t), nil
	case missingCall(a, t.Events, m) != "":
		s.Message = missingCall(a, t.Events, m)
	case a.Exclusive && len(unexpected(a, t.Events, m)) > 0:
		s.Message = "called besides the expected tools: " + strings.Join(unexpected(a, t.Events, m), ", ")
	default:
		s.Pass = true
	}
	return s
}

// missingCall says which required call isn't there, or isn't in its place.
func missingCall(a *ToolsTriggered, events []trace.Event, m ToolMap) string {
	start := 0
	for i := range a.Calls {
		want := &a.Calls[i]
		at := find(events, want, m, start)
		if at < 0 && !want.Optional {
			return describeMissing(want, a.Order, events, m)
		}
		if at >= 0 && a.Order == OrderStrict {
			start = at + 1
		}
	}
	return ""
}

func describeMissing(want *ExpectedCall, order string, events []trace.Event, m ToolMap) string {
	with := ""
	if want.Arguments != nil {
		with = " with arguments " + string(want.Arguments)
	}
	switch {
	case order == OrderStrict && find(events, want, m, 0) >= 0:
		return fmt.Sprintf("%s was called%s, but not after the calls before it", want.Name, with)
	case len(events) == 0:
		return fmt.Sprintf("%s wasn't called%s; no tool was", want.Name, with)
	default:
		return fmt.Sprintf("%s wasn't called%s; called: %s", want.Name, with, strings.Join(names(events), ", "))
	}
}

// unexpected are the qualified names of the events that no expected call names.
func unexpected(a *ToolsTriggered, events []trace.Event, m ToolMap) []string {
	rest := slices.DeleteFunc(slices.Clone(events), func(e trace.Event) bool {
		return slices.ContainsFunc(a.Calls, func(want ExpectedCall) bool { return named(&e, &want, m) })
	})
	return names(rest)
}

// accuracy gives precision, the share of the events that were expected, and recall, the share of
// the required calls that were made.
func accuracy(a *ToolsTriggered, events []trace.Event, m ToolMap) map[string]float64 {
	required, made := 0, 0
	for i := range a.Calls {
		if a.Calls[i].Optional {
			continue
		}
		required++
		if find(events, &a.Calls[i], m, 0) >= 0 {
			made++
		}
	}
	expected := len(events) - len(unexpected(a, events, m))
	return map[string]float64{"precision": share(expected, len(events)), "recall": share(made, required)}
}

// share is n of all, 1 of nothing.
func share(n, all int) float64 {
	if all == 0 {
		return 1
	}
	return float64(n) / float64(all)
}

func names(events []trace.Event) []string {
	out := make([]string, 0, len(events))
	for _, e := range events {
		name := e.Name
		if e.Server != "" {
			name = e.Server + "." + name
		}
		out = append(out, name)
	}
	return out
}

func toolCallCount(a *ToolCallCount, t *trace.Trace) Score {
	s := Score{Grader: GraderToolCallCount}
	if p := evidenceProblem(t); p != "" {
		s.Message = p
		return s
	}
	n := ToolCalls(t)
	switch {
	case a.Exact != nil && n != *a.Exact:
		s.Message = fmt.Sprintf("%d tool calls, not exactly %d", n, *a.Exact)
	case a.Min != nil && n < *a.Min:
		s.Message = fmt.Sprintf("%d tool calls, fewer than %d", n, *a.Min)
	case a.Max != nil && n > *a.Max:
		s.Message = fmt.Sprintf("%d tool calls, more than %d", n, *a.Max)
	default:
		s.Pass = true
	}
	return s
}

// ToolCalls counts a trace's events of kind tool_call, the app's own tools included.
func ToolCalls(t *trace.Trace) int {
	n := 0
	for i := range t.Events {
		if k := t.Events[i].Kind; k == "" || k == trace.KindToolCall {
			n++
		}
	}
	return n
}
