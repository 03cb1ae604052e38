package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client/process"
)

// The peer, with Debian's Python, which has the bindings; and the page that is read.
const (
	python   = "/usr/bin/python3"
	walkPy   = "scripts/bench/atspi.py"
	atspiDoc = "session/atspi/testdata/page.html"
)

// windows are what is read: a page with some links in a window of Chromium, whose own controls count.
var windows = []struct {
	name  string
	links int
}{
	{"200", 0},
	{"2000", 450},
}

// loadLimit is how long Chromium may take to show the page.
const loadLimit = 2 * time.Minute

// benchAtspi compares the snapshot of a window with a walk through libatspi's Python bindings.
func benchAtspi(ctx context.Context, n rounds, w io.Writer) (err error) {
	p, err := newPlace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.remove()) }()
	s, err := session.Start(ctx, p.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	printHead(w, "atspi", n, "Chromium on the host")
	t := table{head: []string{"ms", "nodes", "snapshot", "python3-gi", "snapshot / python"}}
	var verdicts []verdict
	for _, win := range windows {
		nodes, took, err := readWindow(ctx, n, p, s, win.links)
		if err != nil {
			return err
		}
		t.add(fmt.Sprintf("about %s nodes", win.name), fmt.Sprint(nodes), took[0].spread(), took[1].spread(),
			fmt.Sprintf("%.3f", ratio(took[0], took[1])))
		verdicts = append(verdicts, verdict{"atspi-" + win.name + "/python", ratio(took[0], took[1])})
	}
	t.print(w)
	printRatios(w, verdicts...)
	return nil
}

// readWindow shows a page with so many links and reads it in both ways.
func readWindow(ctx context.Context, n rounds, p *place, s *session.Session, links int) (nodes int, took []sample, err error) {
	app, end, err := showPage(ctx, p, s, links)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	snapshot := func(ctx context.Context) (time.Duration, error) {
		var tree *atspi.Tree
		took, err := timed(func() (err error) {
			tree, err = app.Snapshot(ctx)
			return err
		})
		if err != nil {
			return 0, err
		}
		nodes = len(tree.Nodes)
		return took, nil
	}
	walk := func(ctx context.Context) (time.Duration, error) {
		count, took, err := walkInPython(ctx, s, app.Name)
		if err == nil && nodes != 0 && count != nodes {
			err = fmt.Errorf("it read %d nodes, the snapshot %d", count, nodes)
		}
		return took, err
	}
	took, err = n.alternate(ctx, way{"snapshot", snapshot}, way{"python", walk})
	return nodes, took, err
}

// showPage starts Chromium and waits until all of the page is in its tree.
func showPage(ctx context.Context, p *place, s *session.Session, links int) (*atspi.App, func() error, error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, atspiDoc)
	}))
	profile, err := os.MkdirTemp(p.dir, "profile-")
	if err != nil {
		server.Close()
		return nil, nil, err
	}
	browser, err := process.Start(process.Spec{Path: "/usr/bin/chromium", Dir: "/",
		Env: append(s.Env(), "HOME="+profile, "PATH=/usr/bin:/bin", "LANG=C.UTF-8"),
		Args: []string{fmt.Sprintf("--app=%s?links=%d", server.URL, links), "--force-renderer-accessibility",
			"--no-first-run", "--disable-gpu", "--password-store=basic", "--disable-background-networking",
			"--user-data-dir=" + profile}})
	if err != nil {
		server.Close()
		return nil, nil, err
	}
	var bus *atspi.Bus
	end := func() error {
		if bus != nil {
			bus.Close()
		}
		server.Close()
		return browser.End(context.WithoutCancel(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	if bus, err = atspi.OpenAddress(ctx, address(s)); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	app, err := awaitLinks(ctx, bus, links)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return app, end, nil
}

func awaitLinks(ctx context.Context, bus *atspi.Bus, links int) (*atspi.App, error) {
	app, err := bus.Find(ctx, atspi.Identity{Names: []string{"Chromium"}})
	if err != nil {
		return nil, err
	}
	if _, err := app.Ready(ctx); err != nil {
		return nil, err
	}
	_, err = app.Await(ctx, "the page", func(t *atspi.Tree) (bool, error) {
		return len(t.Find(atspi.Query{Roles: []atspi.Role{atspi.RoleLink}})) > links, nil // the page has one more
	})
	return app, err
}

func address(s *session.Session) string {
	for _, kv := range s.Env() {
		if a, ok := strings.CutPrefix(kv, "AT_SPI_BUS_ADDRESS="); ok {
			return a
		}
	}
	return ""
}

// walkInPython has a new process read the app: in an old one libatspi would give what it once read.
func walkInPython(ctx context.Context, s *session.Session, app string) (nodes int, took time.Duration, err error) {
	cmd := exec.CommandContext(ctx, python, walkPy, app)
	cmd.Env = append(s.Env(), "PATH=/usr/bin:/bin", "LANG=C.UTF-8")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w: %s", walkPy, err, strings.TrimSpace(said.String()))
	}
	var ms float64
	if _, err := fmt.Sscan(string(out), &nodes, &ms); err != nil {
		return 0, 0, fmt.Errorf("%s printed %q: %w", walkPy, out, err)
	}
	return nodes, time.Duration(ms * float64(time.Millisecond)), nil
}
