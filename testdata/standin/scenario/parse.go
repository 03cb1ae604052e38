package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
)

// Load reads a scenario from a file.
func Load(path string) (Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Scenario{}, err
	}
	s, err := Parse(data)
	if err != nil {
		return Scenario{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Parse reads a scenario strictly, and makes that of a seed.
func Parse(data []byte) (Scenario, error) {
	var s Scenario
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Scenario{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return Scenario{}, fmt.Errorf("something follows the scenario")
	}
	if err := s.check(); err != nil {
		return Scenario{}, err
	}
	if s.Seed != nil {
		made := FromSeed(*s.Seed)
		made.Log = s.Log
		return made, nil
	}
	return s, nil
}

func (s Scenario) check() error {
	if s.Seed != nil && !reflect.DeepEqual(s, Scenario{Seed: s.Seed, Log: s.Log}) {
		return fmt.Errorf("a seed makes all of the scenario: give nothing else but log")
	}
	checks := []error{
		oneOf("surface", s.Surface, "", Work, Codex),
		oneOf("besides", s.Besides, "", BesidesWindow, BesidesTwin, BesidesApp, BesidesLater),
		oneOf("splash.until", s.Splash.Until, "", Unlocked, Shown, Never, Locked),
		oneOf("handoff.draft", s.Handoff.Draft, "", DraftShown, DraftLost, DraftKept, DraftAltered),
		oneOf("handoff.surface", s.Handoff.Surface, "", Work, Codex),
		oneOf("handoff.emptiedBy", s.Handoff.EmptiedBy, append(mainControls, "")...),
		oneOf("send.prompt", s.Send.Prompt, "", PromptExact, PromptNewline, PromptEscaped),
		oneOf("send.record", s.Send.Record, RecordWritten, RecordLate, RecordElsewhere, RecordTruncated, RecordRepeated, RecordOther, RecordTwice, RecordNever),
		oneOf("send.asks", s.Send.Asks, "", Permission),
		oneOf("main.backticks", s.Main.Backticks, "", BackticksCode),
		s.Main.Controls.check("main", mainControls),
	}
	for name := range s.Labels {
		checks = append(checks, oneOf("labels", name, labelled...))
	}
	for where, c := range map[string]Crash{
		"splash": s.Splash.Crash, "main": s.Main.Crash, "handoff": s.Handoff.Crash, "send": s.Send.Crash,
	} {
		checks = append(checks, oneOf(where+".crash", c, CrashNone, CrashExit, CrashKill))
	}
	for i, screen := range s.Screens {
		checks = append(checks, screen.check(fmt.Sprintf("screens[%d]", i)))
	}
	for _, err := range checks {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s Screen) check(where string) error {
	controls, known := screenControls[s.Kind]
	if !known {
		return fmt.Errorf("%s.kind: there is no %q", where, s.Kind)
	}
	if err := oneOf(where+".crash", s.Crash, CrashNone, CrashExit, CrashKill); err != nil {
		return err
	}
	return s.Controls.check(where, controls)
}

// screenControls are the controls of each screen, by their names in labels.json.
var screenControls = map[Kind][]string{
	Profession:   {"engineering", "continue"},
	Examples:     {"note", "chart", "skip"},
	Confirm:      {"goToChatGPT", "keepSettingUp"},
	Announcement: {"keepModel", "changeModel"},
	Unknown:      {},
	Blank:        {},
	SignIn:       {"logIn"},
	Permission:   {"allow", "cancel"},
}

// labelled are the controls whose labels may be others.
var labelled = []string{
	"engineering", "continue", "note", "chart", "skip", "goToChatGPT", "keepSettingUp", "keepModel", "changeModel",
	"switchWork", "switchCodex", "work", "codex", "send", "tryAgain",
}

// mainControls are the main screen's; the switch is one, whatever mode it tells.
var mainControls = []string{"switch", "work", "codex", "composer", "send"}

func (c Controls) check(where string, known []string) error {
	for _, names := range [][]string{c.Missing, c.Doubled, c.Dead} {
		for _, name := range names {
			if err := knows(where, name, known); err != nil {
				return err
			}
		}
	}
	for name, crash := range c.Fatal {
		if err := errors.Join(knows(where, name, known), oneOf(where+".fatal", crash, CrashExit, CrashKill)); err != nil {
			return err
		}
	}
	return nil
}

func knows(where, name string, known []string) error {
	if !slices.Contains(known, name) {
		return fmt.Errorf("%s: there is no control %q in %q", where, name, known)
	}
	return nil
}

func oneOf[T ~string](where string, got T, allowed ...T) error {
	if !slices.Contains(allowed, got) {
		return fmt.Errorf("%s is %q, want one of %q", where, got, allowed)
	}
	return nil
}
