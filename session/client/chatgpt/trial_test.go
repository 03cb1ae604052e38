package chatgpt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/evidence"
	"github.com/berth-run/berth/session/client/rollout"
)

func (f *fake) open() *batch {
	f.t.Helper()
	s, err := f.client.Open(context.Background(), f.batch)
	must(f.t, err)
	f.t.Cleanup(func() {
		must(f.t, s.Close(context.Background()))
		f.checkGone()
	})
	return s.(*batch)
}

func (f *fake) checkGone() {
	f.t.Helper()
	if _, err := os.Lstat(f.client.opts.Home); !os.IsNotExist(err) {
		f.t.Errorf("the profile is still there: %v", err)
	}
	if left := processesOf(f.t, f.dir); len(left) != 0 {
		f.t.Errorf("left: %v", left)
	}
}

// processesOf lists the processes that have text in their environment.
func processesOf(t *testing.T, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	must(t, err)
	return slices.DeleteFunc(files, func(f string) bool {
		env, _ := os.ReadFile(f) // gone, or somebody else's
		return !strings.Contains(string(env), text)
	})
}

func (s *batch) try(prompt string) client.Result {
	return s.Run(context.Background(), client.Trial{CaseID: "../a case", Prompt: prompt})
}

// TestOutcomes: what a trial comes to, by what the driver and the record say. After each one that spoils
// the app, the next is run by another.
func TestOutcomes(t *testing.T) {
	refused := code.Errorf(code.ComposerMissingOrAmbiguous, "2 composers")
	uncertain := code.Errorf(code.ActionAcknowledgementUncertain, "the composer still holds the prompt")
	for name, tc := range map[string]struct {
		options string
		stall   time.Duration // 0: the fake's
		sent    driver.Receipt
		err     error
		record  *recorded // its prompt is the trial's
		kind    code.Code
		infra   bool
		text    string
		same    bool // the app is kept
	}{
		"answered":           {sent: sent, record: &recorded{}, same: true},
		"one line feed more": {sent: sent, record: &recorded{prompt: "say *hi*\n"}, same: true},
		"escaped":            {sent: sent, record: &recorded{prompt: `say \*hi\*`}, same: true},
		"codex surface":      {options: `{"surface": "codex"}`, sent: sent, record: &recorded{originator: "Codex Desktop"}, same: true},
		"another surface": {options: `{"surface": "codex"}`, sent: sent, record: &recorded{},
			kind: code.NoMatchingSession, text: "no record of the prompt after 300ms"},
		"another prompt": {sent: sent, record: &recorded{prompt: "say hi"}, kind: code.NoMatchingSession},
		"no record":      {sent: sent, kind: code.NoMatchingSession},
		"not sent":       {err: refused, kind: code.ComposerMissingOrAmbiguous, infra: true, text: "2 composers"},
		"uncertain, and recorded": {sent: driver.Receipt{Status: driver.Failed, Sent: true}, err: uncertain, record: &recorded{},
			same: true},
		"uncertain, and not recorded": {sent: driver.Receipt{Status: driver.Failed, Sent: true}, err: uncertain,
			kind: code.ActionAcknowledgementUncertain, text: "still holds"},
		"another model": {sent: sent, record: &recorded{model: "gpt-6-luna"}, kind: code.ClientRunFailed, text: `model "gpt-6-luna" instead of "gpt-5.5"`},
		"another effort": {options: `{"reasoningEffort": "max"}`, sent: sent, record: &recorded{},
			kind: code.ClientRunFailed, text: `effort "medium" instead of "max"`},
		"no answer": {sent: sent, record: &recorded{answer: "-"}, kind: code.ClientRunFailed, text: "without a final answer"},
		"aborted":   {sent: sent, record: &recorded{end: "turn_aborted"}, kind: code.ClientRunFailed, text: "aborted: interrupted"},
		"stalled":   {sent: sent, record: &recorded{end: "-"}, kind: code.Timeout, text: "has not grown for 300ms"},
		"no time": {options: `{"timeout": 15000}`, stall: time.Minute, sent: sent, record: &recorded{end: "-"}, kind: code.Timeout,
			text: "the trial's time was over: 15s"},
		"no call": {options: `{"requireMcpCalls": true}`, sent: sent, record: &recorded{}, kind: code.ClientRunFailed,
			text: "requireMcpCalls", same: true},
		"another's server": {sent: sent, record: &recorded{tool: "mcp__cua_repl.click"}, kind: code.ClientRunFailed,
			text: "isn't in the variant: cua_repl", same: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.batch.Options = json.RawMessage(tc.options)
			f.client.opts.Limits.Turn.Stall = cmp.Or(tc.stall, f.client.opts.Limits.Turn.Stall)
			s := f.open()
			well := f.send
			f.send = func(prompt string) (driver.Receipt, error) {
				if tc.record != nil {
					r := *tc.record
					if r.prompt == "" {
						r.prompt = prompt
					}
					f.record(r)
				}
				return tc.sent, tc.err
			}
			res := s.try("say *hi*")
			if res.FailureCode != tc.kind || res.Infrastructure != tc.infra || res.Submitted != tc.sent.Sent || !strings.Contains(res.Error, tc.text) {
				t.Fatalf("%q (infrastructure %v, submitted %v): %s", res.FailureCode, res.Infrastructure, res.Submitted, res.Error)
			}
			codetest.Saw(t, res.FailureCode)
			f.checkEvidence(res)
			if (s.app != nil) != tc.same {
				t.Errorf("the app is kept: %v, want %v", s.app != nil, tc.same)
			}
			f.send, s.settings = well, Settings{Surface: driver.Work}
			if next := s.try("next"); next.FailureCode != "" || (f.windows == 1) != tc.same {
				t.Errorf("the next, after %d starts: %s: %s", f.windows, next.FailureCode, next.Error)
			}
		})
	}
}

// checkEvidence: a failure that ended the app has what it showed, without the secret.
func (f *fake) checkEvidence(res client.Result) {
	f.t.Helper()
	var names []string
	for _, a := range res.Metadata["artifacts"].([]evidence.Artifact) {
		b, err := os.ReadFile(filepath.Join(f.batch.EvidenceDir, a.Path))
		must(f.t, err)
		if strings.Contains(string(b), secret) {
			f.t.Errorf("%s holds the token", a.Path)
		}
		names = append(names, strings.TrimPrefix(filepath.Base(a.Path), client.RecordPrefix))
	}
	bound := res.Trace != nil
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "rollout-") }) != bound {
		f.t.Errorf("evidence %v, a record was found: %v", names, bound)
	}
	tree := client.TreeFile
	if res.Submitted {
		tree = client.AnsweredTreeFile
	}
	for _, a := range []string{tree, "chatgpt-app.log"} {
		if !slices.Contains(names, a) && res.FailureCode != "" && f.spoilt() {
			f.t.Errorf("evidence %v, without %s", names, a)
		}
	}
}

func (f *fake) spoilt() bool { return len(processesOf(f.t, f.dir)) == 0 }

// TestRecord: what is told of a trial, in the contract's shapes.
func TestRecord(t *testing.T) {
	f := newFake(t)
	s := f.open()
	f.send = func(prompt string) (driver.Receipt, error) {
		f.record(recorded{prompt: prompt + "\n", effort: "high"})
		return sent, nil
	}
	first, second := s.try("one"), s.try("two")
	for _, step := range []string{StepDesktop, StepConfig, StepProbe, StepAppStart, StepPrepare, StepSubmit, StepTurn, StepCodexTurn} {
		if _, ok := first.Steps[step]; !ok {
			t.Errorf("no time of step %s in %v", step, first.Steps)
		}
	}
	if _, ok := second.Steps[StepPrepare]; ok {
		t.Errorf("the second trial's steps %v have the set-up", second.Steps)
	}
	text, err := json.Marshal(map[string]any{"m": second.Metadata, "t": second.Telemetry})
	must(t, err)
	var got struct {
		M struct {
			Driver, TraceConfidence string
			FailureKind             *string
			Session                 struct{ ID, TurnID string }
			Correlation             map[string]any
		}
		T struct {
			CaseExecution    map[string]any
			NativeController struct {
				Provider, Surface string
				Submission        driver.Receipt
			}
			BatchLifecycle struct {
				ID, Scope, SetupStatus, CleanupStatus string
				RecoveryCount                         int
				NativeReadiness                       client.Readiness
				NativeSetup                           driver.Receipt
				Events                                []event
			}
			BatchCase map[string]any
		}
	}
	must(t, json.Unmarshal(text, &got))
	if m := got.M; m.Driver != "linux-atspi" || m.TraceConfidence != "high" || m.FailureKind != nil || m.Session.ID != second.SessionID || m.Session.TurnID == "" {
		t.Errorf("metadata %s", text)
	}
	want := map[string]any{
		"promptSha256": "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3", "promptUnchanged": true, "nativePromptMatch": string(rollout.MatchTerminalLF),
		"nativePromptSha256": "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a",
	}
	if d := diff.Diff(want, got.M.Correlation); d != "" {
		t.Errorf("correlation (-want +got):\n%s", d)
	}
	if c := got.T.NativeController; c.Provider != "linux-atspi" || c.Surface != "chatgpt-work" || c.Submission.Status != driver.Submitted || c.Submission.ActionCount != 2 {
		t.Errorf("controller %+v", c)
	}
	l := got.T.BatchLifecycle
	if l.ID == "" || l.Scope != "batch" || l.SetupStatus != client.Completed || l.CleanupStatus != client.NotStarted || l.NativeSetup.Status != driver.Ready || len(l.Events) == 0 || l.Events[0].Phase != phaseSetup || l.Events[0].Operation != StepDesktop {
		t.Errorf("lifecycle %+v", l)
	}
	if p := l.NativeReadiness.BuiltinToolPolicy; p == nil || p.WebSearch != "disabled" {
		t.Errorf("tool policy %+v", p)
	}
	if d := diff.Diff(map[string]any{"index": 1.0, "caseId": "../a case", "count": 2.0}, got.T.BatchCase); d != "" {
		t.Errorf("case (-want +got):\n%s", d)
	}
	if d := diff.Diff(map[string]any{"status": "completed", "continuation": false}, got.T.CaseExecution); d != "" {
		t.Errorf("execution (-want +got):\n%s", d)
	}
}

// TestAppEndsBetween: an app that ended by itself after a trial is started anew for the next.
func TestAppEndsBetween(t *testing.T) {
	f := newFake(t)
	s := f.open()
	if res := s.try("one"); res.FailureCode != "" {
		t.Fatalf("%s: %s", res.FailureCode, res.Error)
	}
	must(t, s.app.process.End(context.Background()))
	<-s.app.alive.Done()
	if res := s.try("two"); res.FailureCode != "" || f.windows != 2 {
		t.Errorf("%s: %s", res.FailureCode, res.Error)
	}
}

// TestNoNewStart: when the app can't be started anew, every trial that is left says why, and none is sent.
func TestNoNewStart(t *testing.T) {
	f := newFake(t)
	s := f.open()
	f.send = func(string) (driver.Receipt, error) {
		return driver.Receipt{}, code.Errorf(code.SendMissingOrAmbiguous, "no Send")
	}
	s.try("fails")
	f.prepare = func(driver.Receipt) (driver.Receipt, error) {
		return driver.Receipt{Status: driver.Failed}, code.Errorf(code.StateTransitionUnobserved, "no screen that is known")
	}
	for i, want := range []code.Code{code.StateTransitionUnobserved, code.AppUnavailable, code.AppUnavailable} {
		res := s.try(strconv.Itoa(i))
		if res.FailureCode != want || res.Submitted || !res.Infrastructure || !strings.Contains(res.Error, "starting the app anew: ") {
			t.Errorf("%s: %s", res.FailureCode, res.Error)
		}
		if e := res.Telemetry["caseExecution"].(map[string]any); e["status"] != "not_submitted" {
			t.Errorf("execution %v", e)
		}
		codetest.Saw(t, res.FailureCode)
	}
	if f.windows != 2 {
		t.Errorf("%d starts, want 2", f.windows)
	}
}

// TestDesktopEnds: a desktop that ends in the middle of a turn ends the trial by its own line.
func TestDesktopEnds(t *testing.T) {
	f := newFake(t)
	f.client.opts.Limits.Turn.Stall = time.Minute
	s := f.open()
	f.send = func(prompt string) (driver.Receipt, error) {
		f.record(recorded{prompt: prompt, end: "-"})
		f.desktop.end(code.Errorf(code.KeyringAbsent, "keyring (gnome-keyring-daemon) ended"))
		return sent, nil
	}
	res := s.try("hello")
	if res.FailureCode != code.KeyringAbsent || !res.Infrastructure || !res.Submitted || !strings.Contains(res.Error, "keyring (gnome-keyring-daemon) ended") {
		t.Errorf("%s: %s", res.FailureCode, res.Error)
	}
}

func TestCancelled(t *testing.T) {
	f := newFake(t)
	f.client.opts.Limits.Turn.Stall = time.Minute
	s := f.open()
	ctx, cancel := context.WithCancelCause(context.Background())
	f.send = func(prompt string) (driver.Receipt, error) {
		f.record(recorded{prompt: prompt, end: "-"})
		cancel(errors.New("the user's wish"))
		return sent, nil
	}
	res := s.Run(ctx, client.Trial{CaseID: "c", Prompt: "hello"})
	if res.FailureCode != code.Cancelled || res.Error != "the user's wish" || !res.Infrastructure || !res.Submitted {
		t.Errorf("%s: %s", res.FailureCode, res.Error)
	}
}

// TestPrompts: what can't be sent unchanged costs no app.
func TestPrompts(t *testing.T) {
	f := newFake(t)
	s := f.open()
	for prompt, want := range map[string]code.Code{
		"": code.PromptInvalid, " \n": code.PromptInvalid, "a\xff": code.PromptInvalid,
		strings.Repeat("é", 21<<10): code.PromptTooLarge,
	} {
		res := s.try(prompt)
		if res.FailureCode != want || res.Submitted || !res.Infrastructure || s.app == nil {
			t.Errorf("prompt of %d bytes: %s: %s", len(prompt), res.FailureCode, res.Error)
		}
		codetest.Saw(t, res.FailureCode)
	}
	if n := len(f.read("links")); n != 1 {
		t.Errorf("%d hand-offs, want the set-up's alone", n)
	}
}
