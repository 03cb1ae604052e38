package grade

import (
	"fmt"
	"time"

	"github.com/dlclark/regexp2"
)

// patternTimeout bounds one match: the syntax is JavaScript's, whose backtracking can be exponential.
const patternTimeout = 2 * time.Second

// Pattern is a regular expression in JavaScript's syntax, as eval files are written in.
type Pattern struct {
	source string
	re     *regexp2.Regexp
}

// CompilePattern reads source with flags among i, m, s and u. In a case's matchesPattern ^ and $
// match at line ends, which is the flag m.
func CompilePattern(source, flags string) (Pattern, error) {
	opt := regexp2.RegexOptions(regexp2.ECMAScript)
	for _, f := range flags {
		switch f {
		case 'i':
			opt |= regexp2.IgnoreCase
		case 'm':
			opt |= regexp2.Multiline
		case 's':
			// The library takes no Singleline beside ECMAScript; the inline group says the same.
			source = "(?s:" + source + ")"
			opt &^= regexp2.ECMAScript
		case 'u':
			opt |= regexp2.Unicode
		case 'g', 'y', 'd':
			// They change what a match reports, not whether there is one.
		default:
			return Pattern{}, fmt.Errorf("unknown flag %q", f)
		}
	}
	re, err := regexp2.Compile(source, opt)
	if err != nil {
		return Pattern{}, err
	}
	re.MatchTimeout = patternTimeout
	return Pattern{source: source, re: re}, nil
}

// Match tells whether the pattern matches anywhere in s. An error is a match that took too long.
func (p Pattern) Match(s string) (bool, error) { return p.re.MatchString(s) }

func (p Pattern) String() string { return p.source }
