package main

import (
	"testing"
	"time"
)

// TestSplit: what goes by is the app's until it has drawn a screen, and the driver's until it has acted.
func TestSplit(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(ms int, event, screen string) happening {
		return happening{At: start.Add(time.Duration(ms) * time.Millisecond), Event: event, Screen: screen}
	}
	app, driver := split([]happening{
		at(0, "scenario", ""), at(1000, "screen", "splash"), at(1200, "codex", ""), at(1300, "screen", "profession"), // the app: 1300
		at(1340, "click", ""), at(1360, "click", ""), // the driver: 60
		at(1400, "screen", "main"), // the app: 40
		at(1430, "handoff", ""),    // the driver: 30
		at(1500, "screen", "main"), // the app: 70
		at(6600, "handoff", ""),    // the driver: 5100, the settle of 5000 in it
		at(6610, "screen", "main"), // the app: 10
		at(6630, "click", "main"),  // the driver: 20
		at(6631, "send", ""),       // the driver: 1
		at(9000, "screen", "thread"),
	})
	if app != 1420*time.Millisecond || driver != 211*time.Millisecond {
		t.Errorf("the app %v, the driver %v", app, driver)
	}
}
