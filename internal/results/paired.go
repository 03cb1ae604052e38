package results

import "math"

// significance is the chance that a difference of no meaning is called one.
const significance = 0.05

// paired is the sign test: of the cases whose pass rate differs, as many should be better as worse
// if the variants are alike. It's exact, needs no assumption on how rates are spread, and says
// unclear when there are too few cases to tell.
func paired(variant, base []CaseResult) Paired {
	rates := map[string]float64{}
	for _, c := range base {
		if c.Graded > 0 {
			rates[c.ID] = c.PassRate
		}
	}
	p := Paired{Verdict: VerdictUnclear}
	for _, c := range variant {
		b, ok := rates[c.ID]
		if !ok || c.Graded == 0 {
			continue
		}
		p.Cases++
		switch {
		case c.PassRate > b:
			p.Better++
		case c.PassRate < b:
			p.Worse++
		default:
			p.Same++
		}
	}
	p.PValue = signTest(p.Better, p.Worse)
	switch {
	case p.PValue >= significance:
	case p.Better > p.Worse:
		p.Verdict = VerdictBetter
	default:
		p.Verdict = VerdictWorse
	}
	return p
}

// signTest is the two-sided exact probability of a split at least as uneven as a to b, if each of
// a+b were a fair coin.
func signTest(a, b int) float64 {
	n, k := a+b, min(a, b)
	if n == 0 {
		return 1
	}
	tail := 0.0
	for i := 0; i <= k; i++ {
		tail += math.Exp(logChoose(n, i) - float64(n)*math.Ln2)
	}
	return min(1, 2*tail)
}

func logChoose(n, k int) float64 {
	lg := func(x int) float64 {
		v, _ := math.Lgamma(float64(x + 1))
		return v
	}
	return lg(n) - lg(k) - lg(n-k)
}
