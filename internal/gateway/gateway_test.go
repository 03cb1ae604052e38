package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// newServer serves a script; end closes it and gives its log.
func newServer(t *testing.T, script string, token Credential) (srv *httptest.Server, end func() []Entry) {
	t.Helper()
	s, err := Parse("script.json", []byte(script))
	check(t, err)
	log := &bytes.Buffer{}
	g, err := New(s, Options{Token: token, Log: log})
	check(t, err)
	srv = httptest.NewServer(g)
	t.Cleanup(srv.Close)
	return srv, func() []Entry {
		g.Close()
		srv.Close()
		g.open.Wait()
		var all []Entry
		for line := range bytes.Lines(log.Bytes()) {
			var e Entry
			check(t, json.Unmarshal(line, &e))
			all = append(all, e)
		}
		return all
	}
}

// post sends a Responses request and gives the answer's status and body.
func post(t *testing.T, srv *httptest.Server, body, token string, header ...string) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+"/v1/responses", strings.NewReader(body))
	check(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, string(data), err
}

const echo = `{"models": ["b", "a"], "kinds": {"k": "code"}, "rules": [{"steps": [{"text": "You said: {{prompt}}"}]}]}`

func TestModelsInBothShapes(t *testing.T) {
	srv, _ := newServer(t, echo, nil)
	for query, want := range map[string]string{
		"":                        `"id":"b"`,
		"?client_version=0.171.0": `"slug":"k"`,
	} {
		resp, err := http.Get(srv.URL + "/v1/models" + query)
		check(t, err)
		body, err := io.ReadAll(resp.Body)
		check(t, err)
		check(t, resp.Body.Close())
		if resp.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("%q: %d %s, want %s in it", query, resp.StatusCode, body, want)
		}
	}
}

func TestWholeAnswer(t *testing.T) {
	srv, _ := newServer(t, echo, nil)
	resp, body, err := post(t, srv, `{"model": "m", "input": "hello"}`, "")
	check(t, err)
	var got struct {
		Object, Model, Status string
		Output                []struct{ Content []struct{ Text string } }
	}
	check(t, json.Unmarshal([]byte(body), &got))
	if resp.StatusCode != 200 || got.Object != "response" || got.Model != "m" || got.Status != "completed" || got.Output[0].Content[0].Text != "You said: hello" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestStreamedEvents(t *testing.T) {
	srv, _ := newServer(t, echo, nil)
	_, body, err := post(t, srv, `{"model": "m", "stream": true, "input": "a b"}`, "")
	check(t, err)
	var kinds []string
	var text strings.Builder
	for line := range strings.Lines(body) {
		if kind, ok := strings.CutPrefix(line, "event: "); ok {
			kinds = append(kinds, strings.TrimSpace(kind))
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var ev struct{ Delta string }
			check(t, json.Unmarshal([]byte(data), &ev))
			text.WriteString(ev.Delta)
		}
	}
	want := []string{
		"response.created", "response.output_item.added",
		"response.output_text.delta", "response.output_text.delta", "response.output_text.delta", "response.output_text.delta",
		"response.output_item.done", "response.completed",
	}
	if d := cmp.Diff(want, kinds); d != "" || text.String() != "You said: a b" {
		t.Errorf("%q\n%s", text.String(), d)
	}
}

// A second turn of a conversation starts at its own first step, whatever the first one called.
func TestConversationOfTwoTurns(t *testing.T) {
	body := `{"model": "m", "client_metadata": {"turn_id": "t2"}, "input": [
	  {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>x"}]},
	  {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first"}]},
	  {"type": "function_call", "name": "f"}, {"type": "function_call_output", "output": "old"},
	  {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
	  {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "second"}]},
	  {"type": "custom_tool_call", "name": "exec"},
	  {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": "Script completed\nWall time 0.1 seconds\nOutput:\n"}, {"type": "input_text", "text": "one\nOutput:\ntwo"}]},
	  {"type": "message", "role": "user", "content": "<turn_aborted>x"}]}`
	got, err := readConversation(httptest.NewRequest("POST", "/v1/responses", strings.NewReader(body)))
	check(t, err)
	want := conversation{Model: "m", Kind: KindClassic, Prompt: "second", Outputs: []string{"one\nOutput:\ntwo"}, Calls: 1, TurnID: "t2"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMatch(t *testing.T) {
	exact := "say hi"
	c := conversation{Model: "gpt-6-luna", Prompt: "say hi"}
	for _, tt := range []struct {
		m    Match
		want bool
	}{
		{Match{}, true},
		{Match{Exact: &exact}, true},
		{Match{Exact: new(string)}, false},
		{Match{Contains: "hi"}, true},
		{Match{Contains: "Hi"}, false},
		{Match{Regex: "^say"}, true},
		{Match{Regex: "^hi"}, false},
		{Match{Model: "gpt-6-*"}, true},
		{Match{Model: "gpt-6"}, false},
		{Match{Contains: "hi", Model: "gpt-5.5"}, false},
	} {
		if got := tt.m.matches(c); got != tt.want {
			t.Errorf("%+v: %v", tt.m, got)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	srv, end := newServer(t, `{"rules": [{"match": {"exact": "x"}, "steps": [{"text": "y"}]}]}`, nil)
	for body, want := range map[string]int{
		`{"input": "other"}`: 400,
		`not JSON`:           400,
		`{"input": 5}`:       400,
		`{"input": [{"role": "user", "content": "x"}, {"type": "function_call"}]}`: 400, // beyond the last step
	} {
		resp, got, err := post(t, srv, body, "")
		check(t, err)
		if resp.StatusCode != want || !strings.Contains(got, `"error"`) {
			t.Errorf("%s: %d %s", body, resp.StatusCode, got)
		}
	}
	resp, err := http.Get(srv.URL + "/v2/other")
	check(t, err)
	check(t, resp.Body.Close())
	if resp.StatusCode != 404 {
		t.Errorf("another path: %d", resp.StatusCode)
	}
	if n := len(end()); n != 5 {
		t.Errorf("%d requests in the log", n)
	}
}

// Each turn meets a fault as often as it says, and the log names it.
func TestFaults(t *testing.T) {
	srv, end := newServer(t, `{"rules": [{"name": "r", "faults": [
	  {"status": 429, "retryAfter": 7, "message": "slow", "times": 1}, {"cut": true, "times": 1}], "steps": [{"text": "fine words"}]}]}`, nil)
	for _, turn := range []string{"one", "two"} {
		body := fmt.Sprintf(`{"stream": true, "input": "x", "client_metadata": {"turn_id": %q}}`, turn)
		resp, got, err := post(t, srv, body, "")
		check(t, err)
		if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "7" || !strings.Contains(got, "slow") {
			t.Errorf("%s: %v %s", turn, resp, got)
		}
		if _, got, err = post(t, srv, body, ""); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(got, `"delta":"fine "`) || strings.Contains(got, "words") {
			t.Errorf("%s: a cut is %v, after %q", turn, err, got)
		}
		if _, got, err = post(t, srv, body, ""); err != nil || !strings.Contains(got, "response.completed") {
			t.Errorf("%s: %v %s", turn, err, got)
		}
	}
	var got []string
	for _, e := range end() {
		got = append(got, fmt.Sprintf("%s %d %s", e.TurnID, e.Status, e.Fault))
	}
	want := []string{"one 429 status 429", "one 200 cut", "one 200 ", "two 429 status 429", "two 200 cut", "two 200 "}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A stall lasts until the client gives up or the gateway ends.
func TestStalls(t *testing.T) {
	for _, stall := range []string{StallBefore, StallStream} {
		t.Run(stall, func(t *testing.T) {
			asked := asking{make(chan struct{}, 1)}
			srv, end := newServer(t, fmt.Sprintf(`{"rules": [{"faults": [{"stall": %q}], "steps": [{"text": "two words"}]}]}`, stall), asked)
			req, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+"/v1/responses", strings.NewReader(`{"stream": true, "input": "x"}`))
			check(t, err)
			req.Header.Set("Authorization", "Bearer x")
			started := make(chan struct{})
			done := make(chan error, 1)
			go func() {
				resp, err := srv.Client().Do(req)
				close(started)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
				}
				done <- err
			}()
			if stall == StallStream {
				<-started // with the headers; the body doesn't end
			} else {
				<-asked.c
			}
			entries := end()
			if err := <-done; err == nil {
				t.Error("the answer came to a clean end")
			}
			if len(entries) != 1 || entries[0].Fault != "stall "+stall {
				t.Errorf("the log is %+v", entries)
			}
		})
	}
}

// asking tells when a request has come as far as the check of its token.
type asking struct{ c chan struct{} }

func (a asking) Current() (string, error) { a.c <- struct{}{}; return "x", nil }
func (a asking) Rotate() error            { return errors.New("not this one") }

func TestTokens(t *testing.T) {
	file := File(filepath.Join(t.TempDir(), "token"))
	check(t, file.Rotate())
	srv, end := newServer(t, `{"token": {"rotateEvery": 2}, "rules": [{"steps": [{"text": "y"}]}]}`, file)
	first, err := file.Current()
	check(t, err)
	send := func(token string) int {
		resp, _, err := post(t, srv, `{"input": "x"}`, token)
		check(t, err)
		return resp.StatusCode
	}
	statuses := []int{send("wrong"), send(""), send(first), send(first), send(first)}
	second, err := file.Current()
	check(t, err)
	statuses = append(statuses, send(second))
	if d := cmp.Diff([]int{401, 401, 200, 200, 401, 200}, statuses); d != "" {
		t.Error(d)
	}
	info, err := os.Stat(string(file))
	check(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the token file is %v", info.Mode())
	}
	entries := end()
	if entries[2].Token == entries[5].Token || !entries[3].Rotated || entries[2].Rotated {
		t.Errorf("the log is %+v", entries)
	}
	log, err := json.Marshal(entries)
	check(t, err)
	if strings.Contains(string(log), first) || strings.Contains(string(log), second) {
		t.Error("a token is in the log")
	}
}

func TestRotationNeedsAToken(t *testing.T) {
	s := Default()
	s.Token.RotateEvery = 1
	if _, err := New(s, Options{}); !errors.Is(err, ErrNoToken) {
		t.Errorf("got %v", err)
	}
}

// static is a token that stays.
type static string

func (s static) Current() (string, error) { return string(s), nil }
func (s static) Rotate() error            { return errors.New("a token that stays") }

func TestLogEntry(t *testing.T) {
	srv, end := newServer(t, `{"usage": {"input": 5}, "rules": [{"name": "r", "steps": [
	  {"mcp": {"server": "my.calc", "tool": "add"}}, {"text": "y"}]}]}`, static("the-token"))
	_, body, err := post(t, srv, `{"model": "m", "input": "x", "reasoning": {"effort": "high"}}`, "the-token",
		"Session-Id", "s1", "Thread-Id", "t1", "Originator", "o", "X-Codex-Turn-Metadata", `{"turn_id": "u1"}`)
	check(t, err)
	if !strings.Contains(body, `"namespace":"mcp__my_calc"`) {
		t.Errorf("the call is %s", body)
	}
	want := []Entry{{
		Seq: 1, Method: "POST", Path: "/v1/responses", Status: 200, Token: tokenID("the-token"), Accepted: true,
		Model: "m", Kind: KindClassic, SessionID: "s1", ThreadID: "t1", TurnID: "u1", Originator: "o", Effort: "high",
		Prompt: "x", PromptSHA256: "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
		Rule: "r", Step: 1, Call: "mcp my.calc.add", Usage: &Usage{Input: 5},
	}}
	if d := cmp.Diff(want, end(), cmpopts.IgnoreFields(Entry{}, "Time", "DurationMs", "ResponseID")); d != "" {
		t.Error(d)
	}
}

func TestListenOnLoopbackOnly(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80"} {
		if _, err := Listen(addr); !errors.Is(err, ErrNotLoopback) {
			t.Errorf("%s: %v", addr, err)
		}
	}
	url, stop, err := mustGateway(t).Start("localhost:0")
	check(t, err)
	resp, err := http.Get(url + "/models")
	check(t, err)
	check(t, resp.Body.Close())
	check(t, stop())
	if _, err := http.Get(url + "/models"); err == nil {
		t.Error("it still answers after its end")
	}
}

func mustGateway(t *testing.T) *Gateway {
	t.Helper()
	g, err := New(Default(), Options{})
	check(t, err)
	return g
}
