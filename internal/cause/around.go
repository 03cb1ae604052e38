package cause

import (
	"fmt"
	"strings"

	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/evidence"
)

// Rules on what is around the app: its desktop, its process, its servers.

func desktopEnded(e *Evidence) string {
	if s, ok := e.ended("desktop"); ok {
		return fmt.Sprintf("The desktop ended %s: %s.", e.when(), s.Text)
	}
	return ""
}

func appEnded(e *Evidence) string {
	s, ok := e.ended("app")
	if !ok {
		return ""
	}
	text := fmt.Sprintf("The app ended by itself %s (%s)", e.when(), s.Text)
	if word := e.lastWord(); word != "" {
		text += "; the last that it said: " + word
	}
	return text + "."
}

func (e *Evidence) ended(name string) (evidence.Step, bool) {
	for _, s := range e.steps {
		if s.What == evidence.Ended && s.Name == name {
			return s, true
		}
	}
	return evidence.Step{}, false
}

// when says how far a trial had come.
func (e *Evidence) when() string {
	_, handed := e.handoffOf(e.asked != nil)
	switch _, sent := e.sent(); {
	case sent:
		return "after the prompt was sent"
	case e.asked != nil && handed && e.saw(string(driver.DraftReadback)):
		return "while the prompt was about to be sent"
	case e.asked != nil && handed:
		return "after the prompt was handed to it, and before it was sent"
	}
	return "while it was brought up"
}

// handoffOf is the last second start, the trial's own if there was one.
func (e *Evidence) handoffOf(trial bool) (evidence.Step, bool) {
	s, ok := e.last(evidence.Handoff)
	if trial && ok && e.steps[0].What == evidence.Asked && s.At.Before(e.steps[0].At) {
		return s, false
	}
	return s, ok
}

// lastWord is the last line of the app's log that isn't one of Chromium's many.
func (e *Evidence) lastWord() string {
	for i := len(e.log) - 1; i >= 0; i-- {
		line := strings.TrimSpace(e.log[i])
		if line != "" && !strings.HasPrefix(line, "[") {
			return line[:min(len(line), 200)]
		}
	}
	return ""
}

func keyringShut(e *Evidence) string {
	if s, ok := e.last(evidence.Keyring); ok {
		return fmt.Sprintf("The app can't get at its keyring: %s.", strings.TrimSuffix(s.Text, "."))
	}
	return ""
}

// full is what programs say of a full disk.
var full = []string{"No space left on device", "ENOSPC", "Disk quota exceeded"}

func diskFull(e *Evidence) string {
	for _, line := range e.log {
		for _, text := range full {
			if strings.Contains(line, text) {
				return fmt.Sprintf("The app ran out of disk space (%q in its log): the shard's memory holds its files, so raise --runner-option memory=.", text)
			}
		}
	}
	return ""
}

func serverNotReady(e *Evidence) string {
	s, ok := e.last(evidence.Server)
	if !ok {
		return ""
	}
	if s.Text == "" {
		return fmt.Sprintf("MCP server %s wasn't ready.", s.Name)
	}
	return fmt.Sprintf("MCP server %s wasn't ready: %s.", s.Name, strings.TrimSuffix(s.Text, "."))
}

func handoffFailed(e *Evidence) string {
	s, ok := e.last(evidence.Handoff)
	if !ok || s.Text == "exit status 0" {
		return ""
	}
	return fmt.Sprintf("The app didn't take the prompt: its second start, which hands it over, came to %s.", s.Text)
}
