package chatgpt

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/evidence"
	"github.com/berth-run/berth/session/client/turn"
	"github.com/berth-run/berth/session/x11"
)

// What was on screen is looked at for this long each.
const lookLimit = 5 * time.Second

// Names of evidence files (contract §4.6).
const (
	screenshotFile = "-screenshot.png" // after a label
	treeFile       = client.TreePrefix + "tree.txt"
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

func (r *run) keepFailure(label string) {
	r.failure = evidence.Folder{Root: r.s.batch.EvidenceDir, Name: r.trial.CaseID + "-" + label, Redact: r.s.redact}
	r.s.keepScreen(&r.failure, label)
}

// keepPrepare keeps what showed why the app didn't come to its composer.
func (s *batch) keepPrepare() {
	f := &evidence.Folder{Root: s.batch.EvidenceDir, Name: labelPrepare, Redact: s.redact}
	if picture := s.keepScreen(f, labelPrepare); picture != nil {
		s.life.screenshot = picture.Path
	}
}

// keepScreen keeps a picture of the screen, the tree of the app's window and what the app said, as far
// as they can be had: evidence never changes an outcome.
func (s *batch) keepScreen(f *evidence.Folder, label string) (picture *evidence.Artifact) {
	if s.app == nil {
		return nil
	}
	if s.desktop.Err() == nil {
		picture, _ = f.Raw(label+screenshotFile, s.writeScreenshot)
	}
	if s.app.window != nil && s.app.alive.Err() == nil {
		_, _ = f.Text(treeFile, s.writeTree)
	}
	_, _ = f.Text(logFile, s.writeLog)
	return picture
}

func (s *batch) writeScreenshot(w io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookLimit)
	defer cancel()
	d, err := x11.Open(ctx, s.env["DISPLAY"])
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
	fmt.Fprintf(w, "no tree: %v\n%d on the accessibility bus:\n", why, len(apps)) // its error is Text's, too
	for _, a := range apps {
		fmt.Fprintf(w, "%q of %s, process %d (%s), the app's own: %v\n", a.Name, a.Toolkit, a.PID, a.Process, s.app.process.Owns(a.PID))
	}
	return nil
}

func (s *batch) writeLog(w io.Writer) error {
	_, err := io.WriteString(w, s.app.process.Stderr())
	return err
}
