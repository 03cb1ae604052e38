package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// percent is a rate, without decimals where that is exact.
func percent(rate float64) string {
	p := rate * 100
	if math.Abs(p-math.Round(p)) < 0.05 {
		return fmt.Sprintf("%.0f%%", p)
	}
	return fmt.Sprintf("%.1f%%", p)
}

// points is a change of a rate in percentage points, with its sign.
func points(delta float64) string {
	p := delta * 100
	if math.Abs(p) < 0.05 {
		return "±0"
	}
	return strings.TrimSuffix(fmt.Sprintf("%+.1f", p), ".0")
}

// count puts a thin separator between thousands.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// cost is in dollars; "–" when unknown, which isn't 0.
func cost(usd *float64) string {
	switch {
	case usd == nil:
		return "–"
	case *usd != 0 && math.Abs(*usd) < 0.01:
		return fmt.Sprintf("$%.4f", *usd)
	default:
		return fmt.Sprintf("$%.2f", *usd)
	}
}

// duration is for people: 850 ms, 4.2 s, 3 m 05 s, 2 h 10 m.
func duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d m %02d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %02d m", int(d.Hours()), int(d.Minutes())%60)
	}
}

// plural is n with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", count(int64(n)), noun)
}

// line makes text fit for one line of a terminal: a name from a file may hold anything.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) {
			return '\ufffd'
		}
		return r
	}, s)
}
