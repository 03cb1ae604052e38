package cause

import (
	"bufio"
	"encoding/json"
	"image"
	"image/png"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/evidence"
	"github.com/berth-run/berth/session/client/rollout"
	"github.com/berth-run/berth/session/client/turn"
)

// Evidence is what was kept of a trial. All of it may be missing.
type Evidence struct {
	steps   []evidence.Step
	asked   *evidence.Trial
	objects []atspi.Object
	tree    *atspi.Tree
	noTree  string // what the tree's file says instead
	log     []string
	picture image.Image
	record  *rollout.Rollout
	// recordName is its file; badRecord says that it isn't one.
	recordName string
	badRecord  error
	written    time.Time // the record's last line
	files      map[string]string
}

// Bounds of what is read: a shard may send files of any size.
const (
	maxText    = 16 << 20
	maxPicture = 64 << 20
	maxPixels  = 64 << 20
)

// Read reads the files of evidence at paths in fsys. What can't be read is left out.
func Read(fsys fs.FS, paths []string) *Evidence {
	e := &Evidence{files: map[string]string{}}
	for _, name := range stepsFirst(paths) {
		f, err := fsys.Open(name)
		if err != nil {
			continue
		}
		e.take(path.Base(name), f)
		f.Close()
	}
	for _, s := range e.steps {
		if s.What == evidence.Asked {
			e.asked = s.Trial
		}
	}
	return e
}

// stepsFirst: by what was asked the rest is read.
func stepsFirst(paths []string) []string {
	return slices.SortedStableFunc(slices.Values(paths), func(a, b string) int {
		return rank(a) - rank(b)
	})
}

func rank(name string) int {
	if path.Base(name) == evidence.StepsFile {
		return 0
	}
	return 1
}

// take takes a file by what its name says that it is.
func (e *Evidence) take(name string, f io.Reader) {
	text := io.LimitReader(f, maxText)
	switch {
	case name == evidence.StepsFile:
		e.steps, _ = evidence.ReadSteps(text) // those before what can't be read
		e.files[fromSteps] = name
	case client.IsTree(name):
		e.takeTree(text)
		e.files[fromTree] = name
	case strings.HasSuffix(name, ".png"):
		e.picture = readPicture(io.LimitReader(f, maxPicture))
		e.files[fromPicture] = name
	case strings.HasSuffix(name, ".log"):
		e.takeLog(text)
		e.files[fromLog] = name
	case client.IsRecord(name):
		e.takeRecord(name, f)
		e.files[fromRecord] = name
	}
}

func (e *Evidence) takeTree(r io.Reader) {
	body, err := io.ReadAll(r)
	if err != nil {
		return
	}
	if strings.HasPrefix(string(body), evidence.NoTree) {
		e.noTree = string(body)
		return
	}
	e.objects, _ = atspi.ParseObjects(strings.NewReader(string(body)))
	if len(e.objects) > 0 {
		e.tree = atspi.TreeOf(e.objects)
	}
}

// readPicture gives nil for what is no picture, or one of a size that no screen has.
func readPicture(r io.Reader) image.Image {
	var head strings.Builder
	config, err := png.DecodeConfig(io.TeeReader(r, &head))
	if err != nil || config.Width*config.Height > maxPixels {
		return nil
	}
	img, err := png.Decode(io.MultiReader(strings.NewReader(head.String()), r))
	if err != nil {
		return nil
	}
	return img
}

func (e *Evidence) takeLog(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e.log = append(e.log, lines.Text())
	}
}

// takeRecord reads Codex's record as a client does.
func (e *Evidence) takeRecord(name string, f io.Reader) {
	var labels []string
	for _, s := range e.steps {
		if s.Trial != nil {
			labels = s.Trial.Servers
		}
	}
	e.recordName = name
	written := &lastTime{}
	e.record, e.badRecord = rollout.Read(io.TeeReader(io.LimitReader(f, rollout.MaxSize), written), labels)
	e.written = written.at
}

// lastTime finds the time of the last line that goes through it.
type lastTime struct {
	rest []byte
	at   time.Time
}

func (l *lastTime) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		i := slices.Index(l.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		var line struct {
			Timestamp time.Time `json:"timestamp"`
		}
		if json.Unmarshal(l.rest[:i], &line) == nil && !line.Timestamp.IsZero() {
			l.at = line.Timestamp
		}
		l.rest = l.rest[i+1:]
	}
}

// turn is the trial's in its record: the one with its prompt, or the last.
func (e *Evidence) turn() *rollout.Turn {
	if e.record == nil || len(e.record.Turns()) == 0 {
		return nil
	}
	turns := e.record.Turns()
	for _, t := range turns {
		if e.asked != nil && turn.SHA256(t.Prompt) == e.asked.PromptSHA256 {
			return t
		}
	}
	return turns[len(turns)-1]
}

// draft is what could be seen of the composer at the end.
func (e *Evidence) draft() *driver.DraftState {
	for _, s := range slices.Backward(e.steps) {
		var d driver.DraftState
		if s.What == evidence.Draft && json.Unmarshal(s.Draft, &d) == nil {
			return &d
		}
	}
	return nil
}

// last is the last step of a kind.
func (e *Evidence) last(what string) (evidence.Step, bool) {
	for _, s := range slices.Backward(e.steps) {
		if s.What == what {
			return s, true
		}
	}
	return evidence.Step{}, false
}

// sent tells whether Send was activated, and when.
func (e *Evidence) sent() (evidence.Step, bool) {
	for _, s := range e.steps {
		if s.What == evidence.Action && s.Screen == string(driver.Send) {
			return s, true
		}
	}
	return evidence.Step{}, false
}

// saw tells whether a screen, or a step of a draft, was seen.
func (e *Evidence) saw(name string) bool {
	return slices.ContainsFunc(e.steps, func(s evidence.Step) bool { return s.What == evidence.Screen && s.Name == name })
}
