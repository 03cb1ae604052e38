package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
)

//go:embed notes.json
var builtin []byte

var (
	errNoNote = errors.New("no such note")
	errEmpty  = errors.New("a note needs a title and a text")
)

// note is one runbook.
type note struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// store holds the notes in the order of their ids; safe for concurrent calls.
type store struct {
	mu    sync.Mutex
	notes []note
}

// newStore starts from the notes that are built in.
func newStore() *store {
	s := &store{}
	if err := json.Unmarshal(builtin, &s.notes); err != nil {
		panic(err) // notes.json is compiled in, and a test reads it
	}
	return s
}

// search gives "id: title" of every note that has all the words, one a line.
func (s *store) search(query string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := strings.Fields(strings.ToLower(query))
	var hits []string
	for _, n := range s.notes {
		if n.has(words) {
			hits = append(hits, n.ID+": "+n.Title)
		}
	}
	if len(hits) == 0 {
		return "no note has all of these words"
	}
	return strings.Join(hits, "\n")
}

func (n note) has(words []string) bool {
	all := strings.ToLower(n.ID + " " + n.Title + " " + n.Text)
	for _, w := range words {
		if !strings.Contains(all, w) {
			return false
		}
	}
	return len(words) > 0
}

// get gives the text of the note called id, in whatever case.
func (s *store) get(id string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.notes {
		if strings.EqualFold(n.ID, id) {
			return n.Text, nil
		}
	}
	return "", fmt.Errorf("%w: %s", errNoNote, id)
}

// add appends a note under the next free id and gives that.
func (s *store) add(title, text string) (string, error) {
	if title == "" || text == "" {
		return "", errEmpty
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := note{ID: fmt.Sprintf("RB-%d", 11+len(s.notes)), Title: title, Text: text}
	s.notes = append(s.notes, n)
	return n.ID, nil
}
