package evalconfig

import (
	"strconv"

	"github.com/berth-run/berth/internal/grade"
	"github.com/berth-run/berth/internal/jsonpos"
)

var caseRenames = map[string]string{
	"scenario":          `write "input"`,
	"prompt":            `write "input"`,
	"iterations":        `write "trials"`,
	"accuracyThreshold": `write "passThreshold"`,
	"host":              `write "client", "model" and "clientOptions"`,
	"expect":            `write "assertions"`,
}

// parseDataset reads one dataset file.
func parseDataset(name string, data []byte) (Dataset, error) {
	d := Dataset{Type: "file", ContentHash: sha256Hex(data)}
	doc, err := parse(name, data)
	if err != nil {
		return d, err
	}
	var problems Problems
	c := &checker{file: doc, problems: &problems}
	c.object(doc.Root, shape{what: "a dataset", required: []string{"name", "cases"}}, fields{
		"$schema":     c.ignored(jsonpos.String, "$schema"),
		"name":        c.text(&d.Name, "name"),
		"description": c.anyText(&d.Description, "description"),
		"metadata":    c.ignored(jsonpos.Object, "metadata"),
		"cases": func(n *jsonpos.Node) {
			c.list("cases", func(n *jsonpos.Node) { d.Cases = append(d.Cases, c.evalCase(n)) })(n)
			if n.Kind == jsonpos.Array && len(n.Items) == 0 {
				c.invalid(n.Start, "cases is empty; add one")
			}
		},
	})
	for i := range d.Cases {
		d.Cases[i].Dataset = d.Name
	}
	return d, problems.err()
}

func (c *checker) evalCase(n *jsonpos.Node) Case {
	k := Case{Place: c.file.Place(n.Start)}
	var reps *int
	c.object(n, shape{what: "a case", required: []string{"id", "input"}, renamed: caseRenames}, fields{
		"id":            c.text(&k.ID, "id"),
		"input":         c.text(&k.Input, "input"),
		"description":   c.anyText(&k.Description, "description"),
		"client":        c.text(&k.client, "client"),
		"model":         c.text(&k.model, "model"),
		"clientOptions": func(n *jsonpos.Node) { k.clientOptions = c.caseOptions(n) },
		"trials":        c.integer(&k.trials, "trials", 1, maxTrials),
		"passThreshold": c.fraction(&k.threshold, "passThreshold", 0, 1),
		"tags":          c.texts(&k.Tags, "tags"),
		"metadata":      c.ignored(jsonpos.Object, "metadata"),
		"judgeReps":     c.integer(&reps, "judgeReps", 1, maxInt),
		"judges": c.list("judges", func(n *jsonpos.Node) {
			c.extension(n, "a judge")
			k.judges = append(k.judges, c.file.Place(n.Start))
		}),
		"expected":   c.expected,
		"assertions": func(n *jsonpos.Node) { k.Assertions = c.assertions(n) },
	})
	return k
}

func (c *checker) caseOptions(n *jsonpos.Node) []byte {
	if o := c.clientOptions(n); o != nil {
		return o.Raw
	}
	return nil
}

// expected is for judges; other keys are the dataset's own.
func (c *checker) expected(n *jsonpos.Node) {
	c.each(n, "expected", func(m jsonpos.Member) {
		if m.Key == "criteria" {
			var criteria map[string]string
			c.textMap(&criteria, "criteria")(m.Value)
		}
	})
}

func (c *checker) assertions(n *jsonpos.Node) grade.Assertions {
	var a grade.Assertions
	c.object(n, shape{what: "assertions", renamed: map[string]string{
		"passesJudge": `judges have moved; write "judges" beside "assertions"`,
	}}, fields{
		"containsText": c.oneOrMore("containsText", func(n *jsonpos.Node) {
			var s string
			if c.text(&s, "containsText")(n); s != "" {
				a.ContainsText = append(a.ContainsText, s)
			}
		}),
		"matchesPattern": c.oneOrMore("matchesPattern", func(n *jsonpos.Node) {
			if p, ok := c.pattern(n); ok {
				a.MatchesPattern = append(a.MatchesPattern, p)
			}
		}),
		"toolsTriggered": func(n *jsonpos.Node) { a.ToolsTriggered = c.toolsTriggered(n) },
		"toolCallCount":  func(n *jsonpos.Node) { a.ToolCallCount = c.toolCallCount(n) },
	})
	return a
}

// oneOrMore reads a value or a list of them.
func (c *checker) oneOrMore(what string, item field) field {
	return func(n *jsonpos.Node) {
		if n.Kind != jsonpos.Array {
			item(n)
			return
		}
		if len(n.Items) == 0 {
			c.invalid(n.Start, "%s is empty; add one or take it out", what)
		}
		c.list(what, item)(n)
	}
}

func (c *checker) pattern(n *jsonpos.Node) (grade.Pattern, bool) {
	var s string
	if c.text(&s, "matchesPattern")(n); s == "" {
		return grade.Pattern{}, false
	}
	p, err := grade.CompilePattern(s, "m")
	if err != nil {
		c.invalid(n.Start, "matchesPattern isn't a regular expression: %v", err)
	}
	return p, err == nil
}

func (c *checker) toolsTriggered(n *jsonpos.Node) *grade.ToolsTriggered {
	t := &grade.ToolsTriggered{Order: grade.OrderAny}
	var exclusive *bool
	c.object(n, shape{what: "toolsTriggered", required: []string{"calls"}}, fields{
		"calls": func(n *jsonpos.Node) {
			c.list("calls", func(n *jsonpos.Node) { t.Calls = append(t.Calls, c.expectedCall(n)) })(n)
			if n.Kind == jsonpos.Array && len(n.Items) == 0 {
				c.invalid(n.Start, `calls is empty; to allow no call write "toolCallCount": {"exact": 0}`)
			}
		},
		"order":     c.oneOf(&t.Order, "order", grade.OrderStrict, grade.OrderAny),
		"exclusive": c.boolean(&exclusive, "exclusive"),
	})
	t.Exclusive = exclusive != nil && *exclusive
	return t
}

func (c *checker) expectedCall(n *jsonpos.Node) grade.ExpectedCall {
	var e grade.ExpectedCall
	var required *bool
	c.object(n, shape{what: "an expected call", required: []string{"name"}}, fields{
		"name":      c.text(&e.Name, "name"),
		"kind":      c.text(&e.Kind, "kind"),
		"source":    c.text(&e.Source, "source"),
		"server":    c.text(&e.Server, "server"),
		"required":  c.boolean(&required, "required"),
		"arguments": func(n *jsonpos.Node) { e.Arguments = c.expectedArguments(n) },
	})
	e.Optional = required != nil && !*required
	return e
}

func (c *checker) expectedArguments(n *jsonpos.Node) []byte {
	if !c.is(n, jsonpos.Object, "arguments") {
		return nil
	}
	c.argumentPatterns(n)
	return c.file.Raw(n)
}

// argumentPatterns compiles every {"$pattern": …}, so that a broken one is said before the run.
func (c *checker) argumentPatterns(n *jsonpos.Node) {
	if p := n.Get("$pattern"); p != nil && p.Kind == jsonpos.String {
		flags := ""
		if f := n.Get("$flags"); f != nil {
			flags = f.Text
		}
		if _, err := grade.CompilePattern(p.Text, flags); err != nil {
			c.invalid(p.Start, "$pattern isn't a regular expression: %v", err)
		}
	}
	for _, m := range n.Members {
		c.argumentPatterns(m.Value)
	}
	for _, i := range n.Items {
		c.argumentPatterns(i)
	}
}

func (c *checker) toolCallCount(n *jsonpos.Node) *grade.ToolCallCount {
	t := &grade.ToolCallCount{}
	c.object(n, shape{what: "toolCallCount"}, fields{
		"min":   c.integer(&t.Min, "min", 0, maxInt),
		"max":   c.integer(&t.Max, "max", 0, maxInt),
		"exact": c.integer(&t.Exact, "exact", 0, maxInt),
	})
	switch {
	case t.Exact != nil && (t.Min != nil || t.Max != nil):
		c.invalid(n.Start, "toolCallCount has exact beside min or max; keep one or the other")
	case t.Min != nil && t.Max != nil && *t.Min > *t.Max:
		c.invalid(n.Start, "toolCallCount has min %d above max %d", *t.Min, *t.Max)
	case n.Kind == jsonpos.Object && len(n.Members) == 0:
		c.invalid(n.Start, "toolCallCount is empty; set min, max or exact")
	}
	return t
}

func quote(s string) string { return strconv.Quote(s) }
