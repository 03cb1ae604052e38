package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/berth-run/berth/testdata/standin/scenario"
)

// entry is one line of the journal: something that the app did, or that was done to it.
type entry struct {
	At    time.Time `json:"at"`
	Event string    `json:"event"` // README.md lists them
	// Run counts the scenarios, from 1.
	Run      int                `json:"run,omitempty"`
	Screen   screen             `json:"screen,omitempty"`
	Control  string             `json:"control,omitempty"`
	Pointer  bool               `json:"pointer,omitempty"`
	Key      bool               `json:"key,omitempty"`
	Late     bool               `json:"late,omitempty"` // the screen was about to go
	Surface  scenario.Surface   `json:"surface,omitempty"`
	Text     string             `json:"text,omitempty"`
	Path     string             `json:"path,omitempty"`
	Thread   string             `json:"thread,omitempty"`
	Scenario *scenario.Scenario `json:"scenario,omitempty"`
}

// journal appends entries to a file. One that can't be written is lost: it's no reason to end.
type journal struct {
	mu   sync.Mutex
	path string
}

// journalPath is where a scenario has its journal.
func journalPath(sc scenario.Scenario, home string) string {
	if sc.Log != "" {
		return sc.Log
	}
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "chatgpt-standin.jsonl")
}

func (j *journal) log(e entry) {
	e.At = time.Now()
	line, err := json.Marshal(e)
	if err != nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = os.MkdirAll(filepath.Dir(j.path), 0o700)
	f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(append(line, '\n'))
}
