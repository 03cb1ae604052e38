package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/grade"
	"github.com/berth-run/berth/internal/shardproto"
)

// Run is one run's folder. Its methods may be called from several goroutines.
type Run struct {
	// EvalDir is the eval's folder, Dir the run's.
	EvalDir, Dir string

	mu     sync.Mutex
	record Record
}

// Create makes the folder of a new run and writes its record.
func Create(evalDir string, rec Record) (*Run, error) {
	r := &Run{EvalDir: evalDir, Dir: filepath.Join(evalDir, "runs", rec.RunID), record: rec}
	if err := os.MkdirAll(filepath.Dir(r.Dir), 0o755); err != nil {
		return nil, diskError(r.Dir, err)
	}
	if err := os.Mkdir(r.Dir, 0o755); err != nil {
		return nil, diskError(r.Dir, err)
	}
	return r, r.Update(func(*Record) {})
}

// Open finds a run by its id, the last six characters of it, its folder's path, or "latest": the one
// started last, however it ended. (latest.json names the last complete one.)
func Open(evalDir, name string) (*Run, error) {
	dir, err := find(evalDir, name)
	if err != nil {
		return nil, err
	}
	r := &Run{EvalDir: filepath.Dir(filepath.Dir(dir)), Dir: dir}
	err = readJSON(filepath.Join(dir, "run.json"), KindRun, &r.record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s has no run.json", ErrNoRun, dir)
	}
	return r, err
}

func find(evalDir, name string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return filepath.Abs(name)
	}
	runs := filepath.Join(evalDir, "runs")
	ids, err := runIDs(runs)
	if err != nil {
		return "", err
	}
	hits := matching(ids, name)
	switch {
	case len(hits) == 1:
		return filepath.Join(runs, hits[0]), nil
	case len(ids) == 0:
		return "", fmt.Errorf("%w: %q: %s has none yet; start one without --resume", ErrNoRun, name, runs)
	case len(hits) == 0:
		return "", fmt.Errorf("%w: %q in %s", ErrNoRun, name, runs)
	default:
		return "", fmt.Errorf("%w: %q could be %s; give the whole id", ErrNoRun, name, strings.Join(hits, " or "))
	}
}

// runIDs are the runs in a folder, oldest first; none when the folder isn't there.
func runIDs(runs string) ([]string, error) {
	entries, err := os.ReadDir(runs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if runIDForm.MatchString(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

func matching(ids []string, name string) []string {
	if name == "latest" {
		return ids[max(0, len(ids)-1):]
	}
	var hits []string
	for _, id := range ids {
		if id == name || strings.HasSuffix(id, "-"+name) {
			hits = append(hits, id)
		}
	}
	return hits
}

// Record is run.json as it was last written.
func (r *Run) Record() Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.record
}

// Update changes run.json.
func (r *Run) Update(change func(*Record)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.record)
	return writeJSON(filepath.Join(r.Dir, "run.json"), r.record)
}

// ArtifactsDir is where evidence goes, made on first use.
func (r *Run) ArtifactsDir() (string, error) {
	dir := filepath.Join(r.Dir, "artifacts")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", diskError(dir, err)
	}
	return dir, nil
}

// SaveTrial writes a trial that has finished, redacted if the run is. The caller keeps its own copy
// for grading.
func (r *Run) SaveTrial(t Trial) error {
	for _, name := range []string{t.Variant, t.CaseID} {
		if err := validName(name); err != nil {
			return err
		}
	}
	if r.Record().Redacted {
		t = t.redacted()
	}
	return writeJSON(filepath.Join(r.Dir, TracePath(t.Key())), t)
}

// SaveScores writes what the graders said of a trial.
func (r *Run) SaveScores(k shardproto.Key, scores []grade.Score) error {
	id := r.Record().RunID
	for _, s := range scores {
		body := ScoreBody{Pass: s.Pass, Message: s.Message, Metrics: s.Metrics}
		if s.Pass {
			body.Score = 1
		}
		err := writeJSON(filepath.Join(r.Dir, ScorePath(s.Grader, k)), Score{Envelope{Format, KindScore}, id, s.Grader, k.Variant, k.CaseID, k.Trial, body})
		if err != nil {
			return err
		}
	}
	return nil
}

// Trials reads every trial that was saved.
func (r *Run) Trials() (map[shardproto.Key]*Trial, error) {
	out := map[shardproto.Key]*Trial{}
	err := filepath.WalkDir(filepath.Join(r.Dir, "traces"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		t := &Trial{}
		if err := readJSON(path, KindTrial, t); err != nil {
			return err
		}
		out[t.Key()] = t
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return out, err
}

// Resume gives the trials of a run that needn't be collected again: those that came back, however
// they ended, but for infrastructure failures. The eval must be what it was.
func (r *Run) Resume(e *evalconfig.Eval) (map[shardproto.Key]*Trial, error) {
	rec := r.Record()
	switch {
	case rec.Redacted:
		return nil, fmt.Errorf("%w, so its answers can't be graded with the new ones; set redactStoredResponses to false and run it anew", ErrRedacted)
	case rec.ContentHash != e.ContentHash:
		return nil, fmt.Errorf("%w %s was started; run it anew, or undo the change", ErrChanged, rec.RunID)
	case !sameSelection(rec.Selection, e.Selection):
		return nil, fmt.Errorf("%w %s was started: it ran %s; give the same --variant, --case, --filter-tag, --max-cases and --trials", ErrChanged, rec.RunID, selectionText(rec.Selection))
	}
	trials, err := r.Trials()
	if err != nil {
		return nil, err
	}
	for k, t := range trials {
		if t.InfrastructureError {
			delete(trials, k)
		}
	}
	return trials, nil
}

// sameSelection compares what a run was asked for with what is asked now, by their JSON, in which an
// empty list is an absent one; nil is everything.
func sameSelection(was *evalconfig.Selection, now evalconfig.Selection) bool {
	if was == nil {
		was = &evalconfig.Selection{}
	}
	a, errA := json.Marshal(was)
	b, errB := json.Marshal(now)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

func selectionText(s *evalconfig.Selection) string {
	if s == nil {
		return "everything"
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return "another part"
	}
	return string(raw)
}

// ReadLatest reads an eval's latest.json; ErrNoRun when there is none.
func ReadLatest(evalDir string) (Latest, error) {
	var l Latest
	err := readJSON(filepath.Join(evalDir, "latest.json"), KindLatest, &l)
	if errors.Is(err, fs.ErrNotExist) {
		return l, fmt.Errorf("%w: no run of %s was complete yet", ErrNoRun, evalDir)
	}
	return l, err
}

// PublishLatest makes this run the eval's latest if it is complete, full and graded, and no newer
// one is. Call it last.
func (r *Run) PublishLatest() (bool, error) {
	rec := r.Record()
	if rec.Partial || rec.Phases != (Phases{Complete, Complete}) {
		return false, nil
	}
	if l, err := ReadLatest(r.EvalDir); err == nil && l.RunID > rec.RunID {
		return false, nil
	}
	l := Latest{Envelope{Format, KindLatest}, rec.RunID, rec.CreatedAt, "runs/" + rec.RunID}
	return true, writeJSON(filepath.Join(r.EvalDir, "latest.json"), l)
}

// finish writes the end of the run's record.
func (r *Run) finish(p Phases, at time.Time) error {
	return r.Update(func(rec *Record) {
		rec.Phases = p
		rec.FinishedAt = Time(at)
	})
}
