package rollout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
)

// parser turns a record's bytes, in pieces of any size, into a session's turns.
type parser struct {
	meta   Meta
	turns  []*Turn
	byID   map[string]*Turn
	labels labels

	partial []byte // the last line, without its end yet
	line    int
	last    int64  // ordinal of the last record
	broken  *int64 // ordinal of a truncated line that must come again
}

func newParser(serverLabels []string) parser {
	return parser{byID: map[string]*Turn{}, labels: newLabels(serverLabels), last: -1}
}

// feed takes the next bytes of the file.
func (p *parser) feed(b []byte) error {
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			p.partial = append(p.partial, b...)
			return nil
		}
		line := b[:i]
		if len(p.partial) > 0 {
			line = append(p.partial, line...)
			p.partial = nil
		}
		if err := p.takeLine(line); err != nil {
			return err
		}
		b = b[i+1:]
	}
}

func (p *parser) takeLine(line []byte) error {
	p.line++
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil
	}
	var r record
	if err := json.Unmarshal(line, &r); err != nil || r.Type == "" {
		return p.takeBroken(line)
	}
	if p.broken != nil && (r.Ordinal == nil || *r.Ordinal != *p.broken) {
		return p.malformed("a truncated line was not repeated")
	}
	p.broken = nil
	if r.Ordinal != nil {
		p.last = *r.Ordinal
	}
	if err := p.take(r); err != nil {
		if r.Type == "session_meta" {
			return fmt.Errorf("%w: %w", ErrMeta, p.malformed(r.Type))
		}
		return p.malformed(r.Type)
	}
	return nil
}

var ordinalPattern = regexp.MustCompile(`^\{(?:"timestamp":"[^"]*",)?"ordinal":(\d+),`)

// takeBroken remembers a line that is no record. It's a truncated write when the next record has its
// ordinal; where the cut took the ordinal too, that is the one that was due.
func (p *parser) takeBroken(line []byte) error {
	if p.broken != nil {
		return p.malformed("two lines in a row are no records")
	}
	due := p.last + 1
	if m := ordinalPattern.FindSubmatch(line); m != nil {
		n, err := strconv.ParseInt(string(m[1]), 10, 64)
		if err != nil {
			return p.malformed("ordinal out of range")
		}
		due = n
	}
	p.broken = &due
	return nil
}

// malformed names the line, never its content: it may hold anything that the session saw.
func (p *parser) malformed(what string) error {
	return fmt.Errorf("%w: line %d: %s", ErrMalformed, p.line, what)
}

// take applies one record. Types that say nothing about a trial are passed over.
func (p *parser) take(r record) error {
	switch r.Type {
	case "session_meta":
		return p.takeMeta(r)
	case "turn_context":
		return p.takeContext(r)
	case "event_msg":
		return p.takeEvent(r)
	case "response_item":
		return p.takeItem(r)
	case "token_usage_record":
		return p.takeUsage(r)
	}
	return nil
}

// turn finds a turn, or starts one; records without an id belong to the latest.
func (p *parser) turn(id string) *Turn {
	if id == "" && len(p.turns) > 0 {
		return p.turns[len(p.turns)-1]
	}
	t, ok := p.byID[id]
	if !ok {
		t = newTurn(id, p.labels)
		p.byID[id] = t
		p.turns = append(p.turns, t)
	}
	return t
}
