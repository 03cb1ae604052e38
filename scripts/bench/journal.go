package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// happening is a line of the stand-in's journal.
type happening struct {
	At     time.Time `json:"at"`
	Event  string    `json:"event"`
	Screen string    `json:"screen"`
}

func readJournal(path string) ([]happening, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []happening
	for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
		var h happening
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
			return all, err // its last line may be under way
		}
		all = append(all, h)
	}
	return all, nil
}

func has(all []happening, event string) bool {
	return slices.ContainsFunc(all, func(h happening) bool { return h.Event == event })
}

// split tells the app's time from the driver's, up to the prompt sent. Whose turn it is shows in the
// journal: once a screen is drawn it's the driver's, until that has clicked or handed something over; then
// it's the app's, until the next screen is drawn. A second click on one screen is the driver's, whatever
// the app had to do between. What goes before the first screen is the app's, and the contract's settle
// nobody's.
func split(all []happening) (app, driver time.Duration) {
	drawn := false
	var last time.Time
	for i, h := range all {
		gap := h.At.Sub(last)
		switch h.Event {
		case "screen":
			if i > 0 && !drawn {
				app += gap
			} else if i > 0 {
				driver += gap // it had time to act, and didn't
			}
			drawn = h.Screen != "splash" // on which there's nothing to do
		case "click", "handoff", "send":
			driver += gap
			drawn = false
		case "scenario":
		default:
			continue // what Codex does meanwhile
		}
		if last = h.At; h.Event == "send" {
			break
		}
	}
	return app, driver - settleOfContract
}

// ownCPU is what this process has used, by the kernel's count: hundredths of a second.
func ownCPU() (time.Duration, error) {
	body, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(body), ") ") // its name may hold spaces
	fields := strings.Fields(after)
	const user, system = 11, 12 // proc(5): the 14th and 15th of all
	var ticks [2]int64
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/self/stat has %d fields", len(fields))
	}
	for i, at := range []int{user, system} {
		if _, err := fmt.Sscan(fields[at], &ticks[i]); err != nil {
			return 0, err
		}
	}
	return time.Duration(ticks[0]+ticks[1]) * 10 * time.Millisecond, nil
}
