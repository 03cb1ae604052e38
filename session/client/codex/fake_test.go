package codex

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/turn"
)

// envFake makes the test binary an app server with a fault that the real one can't be made to have.
const envFake = "CODEX_TEST_FAKE"

// The faults. Each is met by a trial; Open's probe passes but for fakeExit, fakeNoShell and fakeBwrap.
const (
	fakeExit       = "exit"      // ends at once
	fakeNoShell    = "no-shell"  // commands fail
	fakeBwrap      = "bwrap"     // commands are wrapped
	fakeRefuse     = "refuse"    // turn/start is an error
	fakeSilent     = "silent"    // no record appears
	fakeTwice      = "twice"     // two records of the same session
	fakeMalformed  = "malformed" // a record that is none
	fakeAsk        = "ask"       // asks for an approval, and answers with what it got
	fakeNoAnswer   = "no-answer" // the turn ends without an answer
	fakeAnswer     = "answer"    // no fault
	fakeStall      = "stall"     // the record stops growing
	fakeAborted    = "aborted"
	fakeOriginator = "originator" // the record is another client's
)

// newFake is a client whose Codex is the fake.
func newFake(t *testing.T, fault string) (*Client, client.Batch) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	testdata, err := filepath.Abs("../rollout/testdata")
	must(t, err)
	root := t.TempDir()
	path := filepath.Join(root, "codex")
	script := fmt.Sprintf("#!/bin/sh\n%s=%s CODEX_TEST_DATA='%s' exec '%s' \"$@\"\n", envFake, fault, testdata, self)
	must(t, os.WriteFile(path, []byte(script), 0o700))
	evidence := filepath.Join(root, "evidence")
	must(t, os.Mkdir(evidence, 0o700))
	token := filepath.Join(root, "token")
	must(t, os.WriteFile(token, []byte(secret+"\n"), 0o600))
	limits := turn.Limits{Bind: time.Minute, Stall: 300 * time.Millisecond, Poll: 10 * time.Millisecond}
	if fault == fakeSilent || fault == fakeOriginator { // there will be none
		limits.Bind = 300 * time.Millisecond
	}
	c := New(Setup{Path: path, Dir: filepath.Join(root, "trials"), Limits: limits})
	return c, client.Batch{
		Model: "gpt-5.5", EvidenceDir: evidence,
		Inference: client.Inference{Mode: client.ModeGateway, BaseURL: "http://127.0.0.1:1/v1", TokenFile: token},
	}
}

// secret is in the token file, and fakeExit's stderr.
const secret = "tok-0123456789abcdef"

func fakeMain() {
	fault := os.Getenv(envFake)
	if fault == "" || len(os.Args) < 2 || os.Args[1] != "app-server" {
		return
	}
	if fault == fakeExit {
		fmt.Fprintln(os.Stderr, "fake: no start with "+secret)
		os.Exit(3)
	}
	f := &fakeApp{fault: fault, out: json.NewEncoder(os.Stdout)}
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		var m message
		if json.Unmarshal(s.Bytes(), &m) == nil {
			f.take(m)
		}
	}
	os.Exit(0)
}

// message is JSON-RPC as the app server gets it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

type fakeApp struct {
	fault string
	out   *json.Encoder
}

func (f *fakeApp) take(m message) {
	answer := func(result any) { _ = f.out.Encode(map[string]any{"id": m.ID, "result": result}) }
	switch m.Method {
	case "initialize":
		answer(map[string]any{})
	case "command/exec":
		answer(f.command())
	case "thread/start":
		answer(map[string]any{"thread": map[string]any{"id": fakeSession}})
	case "turn/start":
		if f.fault == fakeRefuse {
			_ = f.out.Encode(map[string]any{"id": m.ID, "error": map[string]any{"code": -32000, "message": "no turn"}})
			return
		}
		// A record is whole before anybody can look for it; only an approval is asked for in the turn.
		f.turn()
		answer(map[string]any{})
		if f.fault == fakeAsk {
			_ = f.out.Encode(map[string]any{"id": "x", "method": "item/commandExecution/requestApproval", "params": map[string]any{}})
		}
	case "":
		f.write("answer", "a", "Hello, Say hi.", "refused "+string(m.Result)+string(errorText(m)))
	}
}

func errorText(m message) []byte {
	if m.Error == nil {
		return nil
	}
	return []byte(m.Error.Message)
}

func (f *fakeApp) command() any {
	switch f.fault {
	case fakeNoShell:
		return map[string]any{"exitCode": 1, "stdout": "", "stderr": "execvp: not found"}
	case fakeBwrap:
		return map[string]any{"exitCode": 0, "stdout": "berth bwrap\n"}
	}
	return map[string]any{"exitCode": 0, "stdout": "berth codex\n"}
}

func (f *fakeApp) turn() {
	switch f.fault {
	case fakeSilent:
	case fakeTwice:
		f.write("answer", "a")
		f.write("answer", "b")
	case fakeMalformed:
		f.put("a", "this is\nno record\n")
	case fakeAnswer:
		f.write("answer", "a")
	case fakeStall:
		text := f.recorded("aborted", "Please hang.", "Say hi.")
		end := strings.Index(text, "<turn_aborted>")
		f.put("a", text[:strings.LastIndexByte(text[:end], '\n')+1])
	case fakeNoAnswer:
		f.write("no-answer", "a", "Answer empty.", "Say hi.")
	case fakeAborted:
		f.write("aborted", "a", "Please hang.", "Say hi.")
	case fakeOriginator:
		f.write("answer", "a", `"berth_codex"`, `"codex_cli_rs"`)
	}
}

// fakeSession is the session of every record that the fake writes.
const fakeSession = "00000000-0000-7000-8000-000000000000"

// write puts a recorded session into CODEX_HOME.
func (f *fakeApp) write(name, id string, replace ...string) { f.put(id, f.recorded(name, replace...)) }

// recorded is a recorded session as one of now, with some texts replaced.
func (f *fakeApp) recorded(name string, replace ...string) string {
	b, err := os.ReadFile(filepath.Join(os.Getenv("CODEX_TEST_DATA"), name+".jsonl"))
	if err != nil {
		panic(err)
	}
	text := string(b)
	var meta struct {
		Payload struct{ ID string }
	}
	first, _, _ := strings.Cut(text, "\n")
	if err := json.Unmarshal([]byte(first), &meta); err != nil {
		panic(err)
	}
	text = strings.ReplaceAll(text, meta.Payload.ID, fakeSession)
	// The trial's clock is now; the recording's was long before, or after, that.
	replace = append(replace, `"started_at":1795`, `"started_at":9795`)
	return strings.NewReplacer(jsonText(replace)...).Replace(text)
}

// jsonText escapes the replacements that go into JSON strings.
func jsonText(replace []string) []string {
	out := append([]string(nil), replace...)
	if len(out) > 1 && strings.HasPrefix(out[1], "refused ") {
		b, _ := json.Marshal(out[1])
		out[1] = strings.Trim(string(b), `"`)
	}
	return out
}

func (f *fakeApp) put(id, text string) {
	dir := filepath.Join(os.Getenv("CODEX_HOME"), "sessions", "2026", "11", "29")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rollout-"+id+".jsonl"), []byte(text), 0o600); err != nil {
		panic(err)
	}
}
