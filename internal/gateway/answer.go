package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"
	"text/template"
	"time"
)

// responses answers POST /v1/responses.
func (g *Gateway) responses(x *exchange) {
	c, err := readConversation(x.r)
	if err != nil {
		x.fail(http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	x.entry.describe(c)
	if f, ok := g.scriptFault("responses", c.TurnID); ok {
		g.inject(x, f, answer{id: g.id("resp"), model: c.Model})
		return
	}
	rule, ok := g.script.find(c)
	if !ok {
		x.fail(http.StatusBadRequest, "no_rule", "no rule of the gateway's script matches this prompt and model")
		return
	}
	x.entry.Rule, x.entry.Step = rule.Name, c.Calls+1
	if c.Calls >= len(rule.Steps) {
		x.fail(http.StatusBadRequest, "no_step", fmt.Sprintf("%s has %d steps, and the turn has called %d tools", rule.Name, len(rule.Steps), c.Calls))
		return
	}
	g.step(x, rule, c)
}

// step answers with the step that the turn is at, or with the fault that stands before it.
func (g *Gateway) step(x *exchange, rule Rule, c conversation) {
	step := rule.Steps[c.Calls]
	a, err := g.answer(step, c)
	if err != nil {
		x.fail(http.StatusInternalServerError, "bad_step", err.Error())
		return
	}
	if !g.wait(x.r.Context(), time.Duration(step.DelayMs)*time.Millisecond) {
		return
	}
	if f, ok := g.ruleFault(rule, c); ok {
		g.inject(x, f, a)
		return
	}
	x.entry.Text, x.entry.Call, x.entry.Usage, x.entry.ResponseID = a.text, step.callName(), &a.usage, a.id
	g.countGranted(x)
	if c.Stream {
		x.stream(a)
	} else {
		x.json(http.StatusOK, a.response("completed"))
	}
}

func (e *Entry) describe(c conversation) {
	sum := sha256.Sum256([]byte(c.Prompt))
	e.Model, e.Kind, e.Effort, e.TurnID = c.Model, c.Kind, c.Effort, c.TurnID
	e.Prompt, e.PromptSHA256 = c.Prompt, hex.EncodeToString(sum[:])
	if n := len(c.Outputs); n > 0 {
		e.Output = c.Outputs[n-1]
	}
}

// find gives the first rule that matches.
func (s Script) find(c conversation) (Rule, bool) {
	for _, r := range s.Rules {
		if r.Match.matches(c) {
			return r, true
		}
	}
	return Rule{}, false
}

func (m Match) matches(c conversation) bool {
	if m.Exact != nil && *m.Exact != c.Prompt {
		return false
	}
	if m.Model != "" {
		if ok, err := path.Match(m.Model, c.Model); err != nil || !ok {
			return false
		}
	}
	if m.Regex != "" && !regexp.MustCompile(m.Regex).MatchString(c.Prompt) { // compiled once before, by check
		return false
	}
	return strings.Contains(c.Prompt, m.Contains)
}

// answer turns a step into what goes over the wire.
func (g *Gateway) answer(s Step, c conversation) (answer, error) {
	text, err := render(s.Text, c)
	if err != nil {
		return answer{}, err
	}
	a := answer{id: g.id("resp"), model: c.Model, text: text, usage: g.script.Usage, deltas: true}
	for _, d := range []*bool{g.script.Deltas, s.Deltas} {
		if d != nil {
			a.deltas = *d
		}
	}
	if s.Usage != nil {
		a.usage = *s.Usage
	}
	if text != "" {
		a.items = append(a.items, message(g.id("msg"), text, s.calls()))
	}
	if s.calls() {
		call, err := s.call(c.Kind, g.id("call"))
		if err != nil {
			return answer{}, err
		}
		a.items = append(a.items, call)
	}
	return a, nil
}

// id makes an id that no other answer of this gateway has.
func (g *Gateway) id(prefix string) string {
	return fmt.Sprintf("%s_%x_%d", prefix, g.start, g.ids.Add(1))
}

// render fills a text's template. {{output}} is the last tool's output, {{output 1}} the first's.
func render(text string, c conversation) (string, error) {
	t, err := template.New("text").Funcs(template.FuncMap{
		"prompt": func() string { return c.Prompt },
		"model":  func() string { return c.Model },
		"output": func(n ...int) string {
			i := len(c.Outputs)
			if len(n) > 0 {
				i = n[0]
			}
			if i < 1 || i > len(c.Outputs) {
				return ""
			}
			return c.Outputs[i-1]
		},
	}).Parse(text)
	if err != nil {
		return "", fmt.Errorf("not a template: %w", err)
	}
	var b strings.Builder
	err = t.Execute(&b, nil)
	return b.String(), err
}
