package chatgpt

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/evidence"
	"github.com/berth-run/berth/session/client/turn"
	"github.com/berth-run/berth/session/x11"
)

// What was on screen is looked at for this long each.
const lookLimit = 10 * time.Second

// Names of evidence files (contract §4.6).
const (
	screenshotFile = "-screenshot.png" // after a label
	logFile        = "chatgpt-app.log"
)

// Labels of failures.
const (
	labelPrepare = "prepare"
	labelSubmit  = "submit"
	labelStall   = "stall"
	labelTurn    = "turn"
)

func label(err error, submitted bool) string {
	switch kind, _ := turn.Classify(err, submitted); {
	case !submitted:
		return labelSubmit
	case kind == code.Timeout:
		return labelStall
	}
	return labelTurn
}

// folder is for a trial's evidence.
func (r *run) folder(name string) evidence.Folder {
	return evidence.Folder{Root: r.s.batch.EvidenceDir, Name: name, Redact: r.s.redact, Also: r.s.others(r.trial)}
}

// keepFailure keeps all that may tell why a trial failed in one folder; its record is there by now.
func (r *run) keepFailure(label string) {
	r.s.keepScreen(&r.kept, label)
	keepSteps(&r.kept, r.allSteps())
}

// keepUnready keeps what showed why the app didn't come to its composer, or why there is none, once.
func (s *batch) keepUnready() {
	if len(s.unready.Kept()) > 0 {
		return
	}
	s.unready = evidence.Folder{Root: s.batch.EvidenceDir, Name: labelPrepare, Redact: s.redact, Also: s.others(client.Trial{})}
	if s.life.screenshot = "unavailable"; s.keepScreen(&s.unready, labelPrepare) != nil {
		s.life.screenshot = "captured"
	}
	steps := s.steps()
	slices.SortStableFunc(steps, func(a, b evidence.Step) int { return a.At.Compare(b.At) })
	keepSteps(&s.unready, steps)
}

// keepScreen keeps a picture of the screen, the tree of the app's window and what the app said, as far
// as they can be had: evidence never changes an outcome.
func (s *batch) keepScreen(f *evidence.Folder, label string) (picture *evidence.Artifact) {
	if s.desktop != nil && s.desktop.Err() == nil {
		picture, _ = f.Raw(label+screenshotFile, s.writeScreenshot)
	}
	if s.app == nil {
		return picture
	}
	if s.app.window != nil && s.app.alive.Err() == nil {
		_, _ = f.Text(s.treeFile(), s.writeTree)
	}
	_, _ = f.Text(logFile, s.writeLog)
	return picture
}

// treeFile says by its name whether answers may be in it. A profile from elsewhere may have brought some.
func (s *batch) treeFile() string {
	if s.sent || s.batch.ProfileDir != "" {
		return client.AnsweredTreeFile
	}
	return client.TreeFile
}

func (s *batch) writeScreenshot(w io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookLimit)
	defer cancel()
	d, err := x11.Open(ctx, newEnvironment(&profile{}, s.desktop.Env(), nil)["DISPLAY"])
	if err != nil {
		return err
	}
	defer d.Close()
	return d.WritePNG(ctx, w)
}

func (s *batch) writeTree(w io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookLimit)
	defer cancel()
	objects, err := s.app.window.Dump(ctx)
	if err != nil {
		return s.writeApps(w, err)
	}
	return atspi.WriteObjects(w, objects)
}

// writeApps says, in the place of a tree that can't be read for why, who is on the accessibility bus.
func (s *batch) writeApps(w io.Writer, why error) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookLimit)
	defer cancel()
	bus, err := atspi.OpenAddress(ctx, s.env["AT_SPI_BUS_ADDRESS"])
	if err != nil {
		return err
	}
	defer bus.Close()
	apps, err := bus.Apps(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, evidence.NoTree+"%v\n%d on the accessibility bus:\n", why, len(apps)) // its error is Text's, too
	for _, a := range apps {
		fmt.Fprintf(w, "%q of %s, process %d (%s), the app's own: %v\n", a.Name, a.Toolkit, a.PID, a.Process, s.app.process.Owns(a.PID))
	}
	return nil
}

func (s *batch) writeLog(w io.Writer) error {
	_, err := io.WriteString(w, s.app.process.Stderr())
	return err
}
