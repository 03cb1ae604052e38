package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// sample is what was measured of one thing, a number a counted run: milliseconds, or MiB.
type sample []float64

// median is the middle of the sorted numbers, or the mean of the two in the middle; 0 for none.
func (s sample) median() float64 {
	n := len(s)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// spread is "median (least to most)".
func (s sample) spread() string {
	if len(s) == 0 {
		return "–"
	}
	return fmt.Sprintf("%s (%s to %s)", number(s.median()), number(slices.Min(s)), number(slices.Max(s)))
}

// number has three significant digits, as far as that is less than a whole one.
func number(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

// ratio divides medians.
func ratio(berth, peer sample) float64 { return berth.median() / peer.median() }

// way is one way of doing a thing; once does it and tells how long that took.
type way struct {
	name string
	once func(context.Context) (time.Duration, error)
}

// rounds says how often every way has its turn. Those that warm up aren't counted.
type rounds struct{ warmup, counted int }

// alternate gives every way a turn in every round, the first of one round being the last of the next,
// so that what the machine does besides meets all of them. It gives a sample for each.
func (r rounds) alternate(ctx context.Context, ways ...way) ([]sample, error) {
	samples := make([]sample, len(ways))
	for round := range r.warmup + r.counted {
		for turn := range ways {
			i := (round + turn) % len(ways)
			took, err := ways[i].once(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", ways[i].name, err)
			}
			if round >= r.warmup {
				samples[i] = append(samples[i], milliseconds(took))
			}
		}
	}
	return samples, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// timed tells how long do took.
func timed(do func() error) (time.Duration, error) {
	start := time.Now()
	err := do()
	return time.Since(start), err
}
