package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-run/berth/testdata/standin/scenario"
)

// forger has Codex write its records elsewhere, and makes of one what a scenario wants to be found.
type forger struct {
	how       scenario.Record
	home      string // CODEX_HOME
	elsewhere string // the one that Codex gets
	prompt    string
}

// newForger makes the other CODEX_HOME, with the same config.
func newForger(how scenario.Record, home, prompt string) (*forger, error) {
	f := &forger{how: how, home: os.Getenv("CODEX_HOME"), elsewhere: filepath.Join(home, ".codex-elsewhere"), prompt: prompt}
	if f.home == "" {
		f.home = filepath.Join(home, ".codex")
	}
	config, err := os.ReadFile(filepath.Join(f.home, "config.toml"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(f.elsewhere, 0o700); err != nil {
		return nil, err
	}
	return f, os.WriteFile(filepath.Join(f.elsewhere, "config.toml"), config, 0o600)
}

// recordLate is how long after a turn a late record is written.
const recordLate = time.Second

// publish makes the record of a thread whose turn is done appear, all at once.
func (f *forger) publish(ctx context.Context, thread string) error {
	path, record, err := f.read(ctx, thread)
	if err != nil || f.how == scenario.RecordNever {
		return err
	}
	folder, files := filepath.Dir(path), map[string][]byte{filepath.Base(path): record}
	switch f.how {
	case scenario.RecordLate:
		time.Sleep(recordLate)
	case scenario.RecordElsewhere:
		folder = filepath.Dir(folder) // of the month, where no records are
	case scenario.RecordTruncated:
		files[filepath.Base(path)] = record[:bytes.LastIndexByte(record[:len(record)-1], '\n')+20]
	case scenario.RecordRepeated:
		files[filepath.Base(path)] = repeated(record)
	case scenario.RecordOther:
		files[filepath.Base(path)] = f.another(record)
	case scenario.RecordTwice:
		id := fmt.Sprintf("%x", rand.Text())[:len(thread)]
		again := bytes.ReplaceAll(record, []byte(thread), []byte(id))
		files["rollout-2026-01-01T00-00-00-"+id+".jsonl"] = again
	}
	return f.put(folder, files)
}

// read gives the record that Codex wrote, when it has its end.
func (f *forger) read(ctx context.Context, thread string) (path string, record []byte, err error) {
	for {
		found, err := filepath.Glob(filepath.Join(f.elsewhere, "sessions/*/*/*/rollout-*"+thread+".jsonl"))
		if err != nil {
			return "", nil, err
		}
		for _, path := range found {
			record, err := os.ReadFile(path)
			if err != nil {
				return "", nil, err
			}
			if bytes.Contains(record, []byte(`"task_complete"`)) && bytes.HasSuffix(record, []byte("\n")) {
				rel, err := filepath.Rel(f.elsewhere, path)
				return rel, record, err
			}
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return "", nil, context.Cause(ctx)
		}
	}
}

// put moves the files into CODEX_HOME with one rename of all folders: whoever looks sees all or none.
func (f *forger) put(folder string, files map[string][]byte) error {
	made := filepath.Join(f.home, "sessions.made")
	rel, err := filepath.Rel("sessions", folder)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(made, rel), 0o700); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(made, rel, name), content, 0o600); err != nil {
			return err
		}
	}
	return os.Rename(made, filepath.Join(f.home, "sessions"))
}

// repeated has the last line once in part before it comes whole.
func repeated(record []byte) []byte {
	at := bytes.LastIndexByte(record[:len(record)-1], '\n') + 1
	last := record[at:]
	return bytes.Join([][]byte{record[:at], last[:len(last)/2], []byte("\n"), last}, nil)
}

// another is the record with another prompt.
func (f *forger) another(record []byte) []byte {
	said, err := json.Marshal(f.prompt)
	if err != nil {
		panic(errors.Join(errors.New("a text can't be JSON"), err))
	}
	return bytes.ReplaceAll(record, said, []byte(`"another prompt"`))
}
