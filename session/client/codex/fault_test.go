package codex

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/session/client"
)

// TestFakeTrials: what the real app server can't be made to do.
func TestFakeTrials(t *testing.T) {
	tests := []struct {
		fault string
		edit  func(*Client, *client.Batch)
		kind  code.Code
		infra bool
		sent  bool
		text  string // in the error, or in the final text of a trial that passes
	}{
		{fault: fakeRefuse, kind: code.SubmissionFailed, infra: true, text: "no turn (-32000)"},
		{fault: fakeSilent, kind: code.NoMatchingSession, sent: true, text: "no record of the prompt after 300ms"},
		{fault: fakeOriginator, kind: code.NoMatchingSession, sent: true, text: "no record"},
		{fault: fakeTwice, kind: code.AmbiguousMatchingSession, sent: true, text: "several turns match"},
		{fault: fakeMalformed, kind: code.ParseFailure, sent: true, text: "line 2"},
		{fault: fakeNoAnswer, kind: code.ClientRunFailed, sent: true, text: "without a final answer"},
		{fault: fakeAborted, kind: code.ClientRunFailed, sent: true, text: "aborted: interrupted"},
		{fault: fakeStall, kind: code.Timeout, sent: true, text: "has not grown for 300ms"},
		{fault: fakeAnswer, sent: true, text: "Hello, Say hi."},
		{
			fault: fakeAnswer, edit: func(_ *Client, b *client.Batch) { b.Model = "gpt-6-luna" },
			kind: code.ClientRunFailed, sent: true, text: `ran with model "gpt-5.5" instead of "gpt-6-luna"`,
		},
		{
			fault: fakeAnswer, edit: func(_ *Client, b *client.Batch) { b.Options = json.RawMessage(`{"reasoningEffort":"max"}`) },
			kind: code.ClientRunFailed, sent: true, text: `reasoning effort "medium" instead of "max"`,
		},
		{
			fault: fakeAnswer, edit: func(_ *Client, b *client.Batch) { b.Options = json.RawMessage(`{"requireMcpCalls":true}`) },
			kind: code.ClientRunFailed, sent: true, text: "requireMcpCalls",
		},
		{
			fault: fakeStall, edit: func(c *Client, b *client.Batch) {
				c.opts.Limits.Stall = time.Minute
				b.Options = json.RawMessage(`{"timeout":15000}`)
			},
			kind: code.Timeout, sent: true, text: "the trial's time was over: 15s",
		},
		{fault: fakeAsk, sent: true, text: `refused {"decision":"decline"}`},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			c, b := newFake(t, tt.fault)
			if tt.edit != nil {
				tt.edit(c, &b)
			}
			s, err := c.Open(context.Background(), b)
			must(t, err)
			res := s.Run(unhurried(t), client.Trial{CaseID: "../a case", Prompt: "Say hi."})
			must(t, s.Close(context.Background()))
			if res.FailureCode != tt.kind || res.Infrastructure != tt.infra || res.Submitted != tt.sent {
				t.Fatalf("%q (infrastructure %v, submitted %v): %s", res.FailureCode, res.Infrastructure, res.Submitted, res.Error)
			}
			codetest.Saw(t, res.FailureCode)
			text := res.Error
			if tt.kind == "" {
				text = res.Trace.FinalText
			}
			if !strings.Contains(text, tt.text) {
				t.Errorf("%q has no %q", text, tt.text)
			}
			if n := res.Metadata["refusedRequests"]; (n != nil) != (tt.fault == fakeAsk) {
				t.Errorf("refused requests: %v", n)
			}
			checkFolders(t, c, b)
		})
	}
}

// checkFolders: no trial's folder is left, and evidence is nowhere but in its folder.
func checkFolders(t *testing.T, c *Client, b client.Batch) {
	t.Helper()
	left, err := os.ReadDir(c.opts.Dir)
	must(t, err)
	if len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	for _, p := range processesWith(t, c.opts.Dir) {
		t.Errorf("a process is left: %s", p)
	}
	kept, err := os.ReadDir(b.EvidenceDir)
	must(t, err)
	for _, e := range kept {
		if !strings.HasPrefix(e.Name(), "case.._a_case-") {
			t.Errorf("evidence folder %s", e.Name())
		}
	}
}

func TestOpenFails(t *testing.T) {
	tests := []struct {
		name  string
		fault string
		edit  func(*testing.T, *client.Batch)
		want  code.Code
		text  string
	}{
		{name: "app ends", fault: fakeExit, want: code.AppExited, text: "(exit status 3): fake: no start with [redacted]"},
		{name: "no shell", fault: fakeNoShell, want: code.EnvironmentInvalid, text: "exit status 1: execvp: not found"},
		{name: "wrapped", fault: fakeBwrap, want: code.EnvironmentInvalid, text: "wraps commands in bwrap"},
		{name: "no model", edit: func(_ *testing.T, b *client.Batch) { b.Model = "" }, want: code.EnvironmentInvalid, text: "model"},
		{name: "unknown option", edit: func(_ *testing.T, b *client.Batch) { b.Options = json.RawMessage(`{"effort":"high"}`) },
			want: code.EnvironmentInvalid, text: `unknown key "effort"; berth/client/codex takes reasoningEffort`},
		{name: "reserved label", edit: func(_ *testing.T, b *client.Batch) { b.Servers = []client.Server{{Label: "codex", Command: "/x"}} },
			want: code.EnvironmentInvalid, text: "Codex's own"},
		{name: "evidence folder open to others", edit: func(t *testing.T, b *client.Batch) { must(t, os.Chmod(b.EvidenceDir, 0o755)) },
			want: code.EvidenceDirUnsafe, text: "mode 0700"},
		{name: "dead MCP server", edit: func(_ *testing.T, b *client.Batch) {
			b.Servers = []client.Server{{Label: "notes", Transport: "stdio", Command: "/no/such/server"}}
		}, want: code.MCPPreflightFailed, text: "MCP server notes"},
		{name: "no inference", edit: func(_ *testing.T, b *client.Batch) { b.Inference.BaseURL = "" }, want: code.InferenceUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, b := newFake(t, tt.fault)
			if tt.edit != nil {
				tt.edit(t, &b)
			}
			_, err := c.Open(context.Background(), b)
			if code.Of(err) != tt.want || !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("error %v, want %s with %q", err, tt.want, tt.text)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the token is in %v", err)
			}
			if left, _ := filepath.Glob(c.opts.Dir + "/*"); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	t.Run("no binary", func(t *testing.T) {
		_, b := newFake(t, "")
		if _, err := New(Setup{Path: "/no/codex", Dir: t.TempDir()}).Open(context.Background(), b); code.Of(err) != code.CodexPathInvalid {
			t.Errorf("error %v", err)
		}
	})
}

func TestPrompts(t *testing.T) {
	c, b := newFake(t, fakeSilent)
	s, err := c.Open(context.Background(), b)
	must(t, err)
	for prompt, want := range map[string]code.Code{
		"": code.PromptInvalid, " \n": code.PromptInvalid, "a\xff": code.PromptInvalid,
		strings.Repeat("x", maxPrompt+1): code.PromptTooLarge,
	} {
		res := s.Run(context.Background(), client.Trial{Prompt: prompt})
		if res.FailureCode != want || res.Submitted || !res.Infrastructure {
			t.Errorf("prompt of %d bytes: %+v", len(prompt), res)
		}
	}
	must(t, s.Close(context.Background()))
}

// TestCancelledTrial: a trial's error is why it was cancelled, and says so once.
func TestCancelledTrial(t *testing.T) {
	c, b := newFake(t, fakeSilent)
	s, err := c.Open(context.Background(), b)
	must(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("interrupted"))
	res := s.Run(ctx, client.Trial{Prompt: "Say hi."})
	if res.FailureCode != code.Cancelled || res.Error != "interrupted" || !res.Infrastructure || res.Submitted {
		t.Errorf("%+v", res)
	}
	must(t, s.Close(context.Background()))
}

// TestUnusable: after a failed clean-up nothing more is run.
func TestUnusable(t *testing.T) {
	c, b := newFake(t, fakeSilent)
	open, err := c.Open(context.Background(), b)
	must(t, err)
	s := open.(*session)
	s.breakOn(os.ErrPermission)
	res := s.Run(context.Background(), client.Trial{Prompt: "Say hi."})
	if res.FailureCode != code.AppStopFailed || res.Submitted || !res.Infrastructure {
		t.Errorf("%+v", res)
	}
	codetest.Saw(t, res.FailureCode)
	if err := s.Close(context.Background()); err == nil {
		t.Error("Close tells of no failure")
	}
}
