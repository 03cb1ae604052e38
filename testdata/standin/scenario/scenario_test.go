package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, err := Parse([]byte(`{"log": "/l", "screens": [{"kind": "examples", "delayMs": 5, "doubled": ["skip"], "twice": true}], "surface": "Codex"}`))
	want := Scenario{Log: "/l", Surface: Codex, Screens: []Screen{{Kind: Examples, DelayMS: 5, Twice: true, Controls: Controls{Doubled: []string{"skip"}}}}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
	if got, err := Parse([]byte(`{"seed": 3, "log": "/l"}`)); err != nil || got.Log != "/l" || *got.Seed != 3 {
		t.Errorf("a seed: %+v, %v", got, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"screen": []}`: `unknown field "screen"`,
		`{} {}`:          "something follows",
		`{"seed": 1, "screens": [{"kind": "blank"}]}`:                                "a seed makes",
		`{"seed": 1, "handoff": {"exit": 3}}`:                                        "a seed makes",
		`{"seed": 1, "surface": "Codex"}`:                                            "a seed makes",
		`{"surface": "Work"}`:                                                        `surface is "Work"`,
		`{"splash": {"until": "later"}}`:                                             `splash.until is "later"`,
		`{"splash": {"crash": "boom"}}`:                                              `splash.crash is "boom"`,
		`{"screens": [{"kind": "main"}]}`:                                            `screens[0].kind: there is no "main"`,
		`{"screens": [{"kind": "blank"}, {"kind": "confirm", "missing": ["skip"]}]}`: `screens[1]: there is no control "skip"`,
		`{"screens": [{"kind": "blank", "crash": "x"}]}`:                             `screens[0].crash`,
		`{"main": {"dead": ["switchWork"]}}`:                                         `main: there is no control "switchWork"`,
		`{"main": {"fatal": {"skip": "exit"}}}`:                                      `main: there is no control "skip"`,
		`{"main": {"fatal": {"send": "x"}}}`:                                         `main.fatal is "x"`,
		`{"handoff": {"emptiedBy": "skip"}}`:                                         `handoff.emptiedBy is "skip"`,
		`{"main": {"backticks": "gone"}}`:                                            `main.backticks`,
		`{"handoff": {"draft": "eaten"}}`:                                            `handoff.draft`,
		`{"handoff": {"surface": "x"}}`:                                              `handoff.surface`,
		`{"send": {"prompt": "x"}}`:                                                  `send.prompt`,
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestDefaultIsAScenario(t *testing.T) {
	if err := Default().check(); err != nil {
		t.Error(err)
	}
}

// A seed makes the same screens every time, seeds differ, and each kind of screen and fault comes.
func TestFromSeed(t *testing.T) {
	kinds, faults, twice, clean := map[Kind]int{}, map[string]int{}, 0, 0
	for seed := range uint64(200) {
		s := FromSeed(seed)
		if d := cmp.Diff(s, FromSeed(seed)); d != "" {
			t.Fatal(d)
		}
		s.Seed = nil
		if err := s.check(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		broken := len(s.Main.Missing)+len(s.Main.Doubled) > 0
		for _, screen := range s.Screens {
			kinds[screen.Kind]++
			if screen.Twice {
				twice++
			}
			for _, c := range append(screen.Missing, screen.Doubled...) {
				faults[c]++
				broken = true
			}
		}
		if !broken {
			clean++
		}
	}
	for _, k := range []Kind{Profession, Examples, Confirm, Announcement, Unknown} {
		if kinds[k] == 0 {
			t.Errorf("no %s", k)
		}
	}
	for _, control := range []string{"engineering", "continue", "note", "chart", "skip", "goToChatGPT", "keepModel"} {
		if faults[control] == 0 {
			t.Errorf("%s is never missing or doubled", control)
		}
	}
	if twice == 0 || clean < 80 || clean > 160 {
		t.Errorf("%d screens are there twice, %d of 200 sequences are without a fault", twice, clean)
	}
}
