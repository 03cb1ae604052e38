package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-run/berth/internal/gateway"
	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt"
)

// standin is the app, made by make beside this program; firstRun is what it shows: all screens of a fresh
// profile, as fast as it can, and no route of its own that would be taken for one of the driver's.
const (
	standin  = "bin/chatgpt-standin"
	firstRun = `{
	"screens": [{"kind": "profession", "stale": true}, {"kind": "examples"}, {"kind": "confirm"}, {"kind": "announcement"}],
	"log": %q}`
	settleOfContract = 5 * time.Second
	driverGoal       = 1500 * time.Millisecond
	turnMeasured     = 5 * time.Second
)

// waiting is a model that never answers.
const waiting = `{"models": ["gpt-5.5"], "rules": [{"faults": [{"stall": "before"}], "steps": [{"text": "never"}]}]}`

// passage is one way from the app's start to a prompt that was sent.
type passage struct {
	app, driver time.Duration
	cpu         float64 // of a core, while the turn ran
}

// benchChatGPT measures the way from the app's start to the prompt sent, with every first-run screen on it,
// and tells the app's time from the driver's by the app's own journal; then what the driver takes while the
// turn runs.
func benchChatGPT(ctx context.Context, n rounds, w io.Writer) error {
	printHead(w, "chatgpt", n, "the stand-in's Chromium and the real Codex on the host")
	var all []passage
	for round := range n.warmup + n.counted {
		p, err := pass(ctx)
		if err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		all = append(all, p)
	}
	var app, driver, cpu sample
	for _, p := range all[n.warmup:] {
		app, driver = append(app, milliseconds(p.app)), append(driver, milliseconds(p.driver))
		cpu = append(cpu, 100*p.cpu)
	}
	t := table{head: []string{"", "", "goal"}}
	t.add("the app's own time, from its start to the prompt sent, ms", app.spread(), "")
	t.add("the driver's, beyond the settle of 5 s, ms", driver.spread(), "at most "+number(milliseconds(driverGoal)))
	t.add("the driver's part of a core while a turn runs, %", cpu.spread(), "below 3")
	t.print(w)
	printRatios(w, verdict{"driver/app", ratio(driver, app)}, verdict{"driver/goal", driver.median() / milliseconds(driverGoal)},
		verdict{"driver-cpu/core", cpu.median() / 100})
	return nil
}

// pass makes one passage on a desktop of its own.
func pass(ctx context.Context) (p passage, err error) {
	_, err = at(func(at *place) (took time.Duration, err error) {
		s, err := session.Start(ctx, at.Config)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		p, err = passOn(ctx, at, s)
		return 0, err
	})
	return p, err
}

func passOn(ctx context.Context, at *place, s *session.Session) (p passage, err error) {
	token := gateway.File(filepath.Join(at.dir, "token"))
	url, stop, err := serveScript(token)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	b, err := newBatch(at, url, string(token))
	if err != nil {
		return p, err
	}
	app, err := filepath.Abs(standin)
	if err != nil {
		return p, err
	}
	c := chatgpt.New(chatgpt.Options{
		Desktop: func(context.Context) (*session.Session, error) { return s, s.Err() },
		AppPath: app, CodexPath: os.Getenv("BERTH_CODEX"), Home: filepath.Join(at.dir, "app"),
	})
	opened, err := c.Open(ctx, b)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, opened.Close(context.WithoutCancel(ctx))) }()
	journal := filepath.Join(at.dir, "journal.jsonl")
	p.cpu, err = cpuInTurn(ctx, opened, journal)
	if err != nil {
		return p, err
	}
	events, err := readJournal(journal)
	if err == nil {
		p.app, p.driver = split(events)
	}
	return p, err
}

func serveScript(token gateway.File) (url string, stop func() error, err error) {
	script, err := gateway.Parse("waiting", []byte(waiting))
	if err == nil {
		err = token.Rotate()
	}
	if err != nil {
		return "", nil, err
	}
	g, err := gateway.New(script, gateway.Options{Token: token, Log: io.Discard})
	if err != nil {
		return "", nil, err
	}
	return g.Start("127.0.0.1:0")
}

func newBatch(at *place, url, token string) (b client.Batch, err error) {
	scenario, evidence := filepath.Join(at.dir, "scenario.json"), filepath.Join(at.dir, "evidence")
	err = errors.Join(os.Mkdir(evidence, 0o700),
		os.WriteFile(scenario, fmt.Appendf(nil, firstRun, filepath.Join(at.dir, "journal.jsonl")), 0o600))
	if err != nil {
		return b, err
	}
	options, err := json.Marshal(map[string]any{"env": map[string]string{
		"CHATGPT_STANDIN_SCENARIO": scenario, "CHATGPT_STANDIN_CODEX": os.Getenv("BERTH_CODEX"),
	}})
	return client.Batch{
		Variant: "bench", Model: "gpt-5.5", Trials: 1, Options: options, EvidenceDir: evidence,
		Inference: client.Inference{Mode: client.ModeGateway, BaseURL: url, TokenFile: token},
	}, err
}

// cpuInTurn runs a trial whose model doesn't answer, and tells what this process takes of a core while
// it's followed.
func cpuInTurn(ctx context.Context, s client.Session, journal string) (of float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan client.Result, 1)
	go func() { done <- s.Run(ctx, client.Trial{CaseID: "bench", Prompt: "wait"}) }()
	if err := awaitTurn(ctx, journal, done); err != nil {
		return 0, err
	}
	before, err := ownCPU()
	if err != nil {
		return 0, err
	}
	time.Sleep(turnMeasured)
	after, err := ownCPU()
	cancel()
	<-done
	return float64(after-before) / float64(turnMeasured), err
}

// turnLimit is how long a turn may take to begin.
const turnLimit = time.Minute

func awaitTurn(ctx context.Context, journal string, done <-chan client.Result) error {
	ctx, cancel := context.WithTimeout(ctx, turnLimit)
	defer cancel()
	for {
		if events, err := readJournal(journal); err == nil && has(events, "turn") {
			time.Sleep(time.Second) // the record is bound by then
			return nil
		}
		select {
		case r := <-done:
			return fmt.Errorf("the trial ended before: %s: %s", r.FailureCode, r.Error)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
