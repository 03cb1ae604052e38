package scenario

import "math/rand/v2"

// faults are how often, of 100, a screen of a seed's has one.
const faults = 12

// FromSeed makes screens of a seed, the same ones for the same seed: each of the contract's is there
// or not, late or not, once or twice, mostly in the usual order; and about every third sequence has a
// screen with a control that is doubled or missing, or an unknown screen.
func FromSeed(seed uint64) Scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	s := Scenario{Seed: &seed, Handoff: Handoff{SettleMS: r.IntN(200)}}
	s.Surface = pick(r, Work, Codex)
	s.Splash.DelayMS = r.IntN(100)
	s.Main.DelayMS = r.IntN(200)
	for _, k := range []Kind{Profession, Examples, Confirm, Announcement} {
		if r.IntN(100) < 70 {
			s.Screens = append(s.Screens, randomScreen(r, k))
		}
	}
	if r.IntN(100) < 20 {
		r.Shuffle(len(s.Screens), func(i, j int) { s.Screens[i], s.Screens[j] = s.Screens[j], s.Screens[i] })
	}
	if r.IntN(100) < 4 {
		s.Screens = append(s.Screens, Screen{Kind: Unknown, Title: "What's new"})
	}
	if r.IntN(100) < faults {
		s.Main.Controls = randomFault(r, "switch", "composer", "send")
	}
	return s
}

func randomScreen(r *rand.Rand, k Kind) Screen {
	s := Screen{Kind: k, DelayMS: r.IntN(250), Twice: r.IntN(100) < 15}
	if k == Profession {
		s.Stale = r.IntN(2) == 0
	}
	if r.IntN(100) < faults {
		s.Controls = randomFault(r, screenControls[k]...)
	}
	return s
}

func randomFault(r *rand.Rand, controls ...string) Controls {
	name := pick(r, controls...)
	if r.IntN(2) == 0 {
		return Controls{Doubled: []string{name}}
	}
	return Controls{Missing: []string{name}}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
