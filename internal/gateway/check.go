package gateway

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// check finds what is well-formed and can't work, so that a script fails when it's read and not in
// the middle of a run. It also names the rules that have no name.
func (s *Script) check(src *source) error {
	if len(s.Rules) == 0 {
		return src.errorIn("rules", "a script needs at least one rule")
	}
	if s.Token.RotateEvery < 0 {
		return src.errorIn("token.rotateEvery", "must be 0 (never) or more")
	}
	for id, kind := range s.Kinds {
		if kind != KindClassic && kind != KindCode {
			return src.errorIn("kinds."+id, "must be %q or %q", KindClassic, KindCode)
		}
	}
	for i, f := range s.Faults {
		at := fmt.Sprintf("faults[%d]", i)
		if f.Path != "" && f.Path != "models" && f.Path != "responses" {
			return src.errorIn(at+".path", `must be "models" or "responses"`)
		}
		if f.Step != 0 {
			return src.errorIn(at+".step", "only a rule's fault has a step")
		}
		if err := f.check(src, at); err != nil {
			return err
		}
	}
	for i := range s.Rules {
		if s.Rules[i].Name == "" {
			s.Rules[i].Name = fmt.Sprintf("rule %d", i+1)
		}
		if err := s.Rules[i].check(src, fmt.Sprintf("rules[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (r Rule) check(src *source, at string) error {
	if _, err := regexp.Compile(r.Match.Regex); err != nil {
		return src.errorIn(at+".match.regex", "%v", err)
	}
	if _, err := path.Match(r.Match.Model, ""); err != nil {
		return src.errorIn(at+".match.model", "%v", err)
	}
	if len(r.Steps) == 0 {
		return src.errorIn(at, "needs steps: at least one, with a text")
	}
	for i, step := range r.Steps {
		if err := step.check(src, fmt.Sprintf("%s.steps[%d]", at, i), i == len(r.Steps)-1); err != nil {
			return err
		}
	}
	for i, f := range r.Faults {
		at := fmt.Sprintf("%s.faults[%d]", at, i)
		if f.Path != "" {
			return src.errorIn(at+".path", "only a fault of the script itself has a path")
		}
		if f.Step < 0 || f.Step > len(r.Steps) {
			return src.errorIn(at+".step", "the rule has the steps 1 to %d", len(r.Steps))
		}
		if err := f.check(src, at); err != nil {
			return err
		}
	}
	return nil
}

func (s Step) check(src *source, at string, last bool) error {
	n := 0
	for _, set := range []bool{s.MCP != nil, s.Command != nil, s.Tool != nil} {
		if set {
			n++
		}
	}
	switch {
	case n > 1:
		return src.errorIn(at, "one step calls one tool: mcp, command or tool")
	case last && n > 0:
		return src.errorIn(at, "the last step ends the turn, so it's a text without a call")
	case !last && n == 0:
		return src.errorIn(at, "a text without a call ends the turn, so it must be the last step")
	case n == 0 && s.Text == "":
		return src.errorIn(at, "needs a text")
	case s.DelayMs < 0:
		return src.errorIn(at+".delayMs", "must not be negative")
	case s.MCP != nil && (s.MCP.Server == "" || s.MCP.Tool == ""):
		return src.errorIn(at+".mcp", "needs server and tool")
	case s.Command != nil && s.Command.Cmd == "":
		return src.errorIn(at+".command", "needs cmd")
	case s.Tool != nil && !identifier.MatchString(s.Tool.Name):
		return src.errorIn(at+".tool", "needs the name of one of the client's tools, such as update_plan")
	}
	if _, err := render(s.Text, conversation{}); err != nil {
		return src.errorIn(at+".text", "%v", err)
	}
	return nil
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (f Fault) check(src *source, at string) error {
	kinds := 0
	for _, set := range []bool{f.Status != 0, f.Stall != "", f.Cut} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return src.errorIn(at, "needs exactly one of status, stall and cut")
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return src.errorIn(at+".status", "must be from 400 to 599")
	case f.Stall != "" && f.Stall != StallBefore && f.Stall != StallStream:
		return src.errorIn(at+".stall", "must be %q or %q", StallBefore, StallStream)
	case f.Times < 0 || f.RetryAfter < 0:
		return src.errorIn(at, "times and retryAfter must not be negative")
	case f.Status == 0 && (f.RetryAfter != 0 || f.Message != ""):
		return src.errorIn(at, "retryAfter and message belong to a status")
	}
	return nil
}

// suggestion lists what may stand where an unknown key stood.
func suggestion(path string, fields map[string]reflect.Type) string {
	where := "a script"
	if path != "" {
		where = path
	}
	return fmt.Sprintf("; %s takes %s", where, strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
}

// kindName is a Go type in a script author's words.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	}
	return "a " + t.String()
}
