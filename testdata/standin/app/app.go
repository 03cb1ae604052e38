// Package app is the stand-in for the ChatGPT desktop app: Chromium in a window of its own over a small
// server, with the real Codex behind it. It behaves as its scenario says and knows nothing of who drives
// it.
package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/berth-run/berth/testdata/standin/engine"
	"github.com/berth-run/berth/testdata/standin/scenario"
)

// Config is what the app is started with.
type Config struct {
	Flags  []string // for Chromium
	Link   string   // codex:// or chatgpt-standin://, "" for none
	Stdout io.Writer
	Stderr io.Writer
}

// crashStatus is how the real app was seen to end when its renderer was gone.
const crashStatus = 133

// Run starts the app, or hands the link to the one that runs already, and gives the exit status.
func Run(c Config) (int, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return 1, err
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return 1, err
	}
	profile := filepath.Join(config, "ChatGPT")
	if err := os.MkdirAll(profile, 0o700); err != nil {
		return 1, err
	}
	in, err := enter(profile)
	if errors.Is(err, errRuns) {
		return handOver(c, in.socket)
	}
	if err != nil {
		return 1, err
	}
	defer in.leave()
	sc, err := loadScenario()
	if err != nil {
		return 1, err
	}
	// A link that starts the app loses its prompt (openai/codex#30720).
	return run(c, sc, in, profile, home)
}

// loadScenario looks where README.md says.
func loadScenario() (scenario.Scenario, error) {
	if path := os.Getenv("CHATGPT_STANDIN_SCENARIO"); path != "" {
		return scenario.Load(path)
	}
	for _, path := range []string{"/tmp/chatgpt-standin.json", "/etc/chatgpt-standin/scenario.json"} {
		sc, err := scenario.Load(path)
		if !errors.Is(err, os.ErrNotExist) {
			return sc, err
		}
	}
	return scenario.Default(), nil
}

func codexPath() string {
	if path := os.Getenv("CHATGPT_STANDIN_CODEX"); path != "" {
		return path
	}
	return "/opt/codex/bin/codex"
}

func run(c Config, sc scenario.Scenario, in *instance, profile, home string) (int, error) {
	asked, ignore := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer ignore()
	life, stop := context.WithCancel(asked)
	crashed := make(chan struct{}, 1)
	s := newStage()
	s.life, s.home, s.storage = life, home, openStorage
	s.state = filepath.Join(profile, "first-run-done")
	s.journal = &journal{path: journalPath(sc, home)}
	s.engine = engine.New(codexPath(), c.Stderr, s.lost)
	s.crash = func(how scenario.Crash) { crash(how, s.journal, crashed) }
	defer stop()
	drawn := s.start(sc, sc.Besides.FromStart())
	w, err := serve(s)
	if err != nil {
		return 1, err
	}
	browser, err := browse(w.address(""), filepath.Join(profile, "Chromium"), c)
	if err != nil {
		return 1, err
	}
	others := &besides{web: w, profile: profile, config: c, kind: sc.Besides}
	defer end(stop, browser.end, others.end, s.engine.Close)
	others.with(s, drawn)
	go s.ready(s.surface())
	go in.serve(s)
	select {
	case <-asked.Done():
		return 0, nil
	case <-crashed:
		return crashStatus, nil
	case <-browser.done:
		return browser.status()
	}
}

// end ends the app's programs side by side: who stops an app gives it a few seconds.
func end(programs ...func()) {
	var all sync.WaitGroup
	for _, p := range programs {
		all.Go(p)
	}
	all.Wait()
}

// crash ends the app as a scenario wants it.
func crash(how scenario.Crash, j *journal, crashed chan<- struct{}) {
	j.log(entry{Event: "crash", Text: string(how)})
	if how == scenario.CrashKill {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	select {
	case crashed <- struct{}{}:
	default:
	}
}

// handOver gives the link to the running app.
func handOver(c Config, socket string) (int, error) {
	r, err := call(socket, c.Link)
	if err != nil {
		return 1, fmt.Errorf("the app that runs doesn't answer: %w", err)
	}
	if r.Error != "" {
		return r.Exit, errors.New(r.Error)
	}
	if r.Scenario != nil {
		if err := printScenario(c.Stdout, *r.Scenario); err != nil {
			return 1, err
		}
	}
	time.Sleep(time.Duration(r.HangMS) * time.Millisecond)
	return r.Exit, nil
}

// printScenario tells a test what a seed has made.
func printScenario(w io.Writer, sc scenario.Scenario) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(sc)
}
