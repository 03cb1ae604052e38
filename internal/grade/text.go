package grade

import (
	"fmt"
	"strings"
)

func containsText(want []string, text string) Score {
	var missing []string
	for _, w := range want {
		if !strings.Contains(text, w) {
			missing = append(missing, fmt.Sprintf("%q", w))
		}
	}
	if len(missing) > 0 {
		return Score{Grader: GraderContainsText, Message: "the answer doesn't contain " + strings.Join(missing, ", ")}
	}
	return Score{Grader: GraderContainsText, Pass: true}
}

func matchesPattern(want []Pattern, text string) Score {
	var missing []string
	for _, p := range want {
		ok, err := p.Match(text)
		switch {
		case err != nil:
			return Score{Grader: GraderMatchesPattern, Message: fmt.Sprintf("/%s/ took longer than %s on the answer", p, patternTimeout)}
		case !ok:
			missing = append(missing, fmt.Sprintf("/%s/", p))
		}
	}
	if len(missing) > 0 {
		return Score{Grader: GraderMatchesPattern, Message: "the answer doesn't match " + strings.Join(missing, ", ")}
	}
	return Score{Grader: GraderMatchesPattern, Pass: true}
}
