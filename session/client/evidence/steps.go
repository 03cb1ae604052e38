package evidence

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"github.com/berth-run/berth/internal/code"
)

// StepsFile is what was done for a trial and what was seen meanwhile, a Step a line.
const StepsFile = "steps.jsonl"

// Kinds of steps.
const (
	Asked   = "asked"   // what the trial was to be
	Timed   = "step"    // something of berth's own, over: Name and Ms
	Screen  = "screen"  // the app was seen to show Name, or a step of a draft began
	Action  = "action"  // Action was done to the control Name, on the screen Screen
	Handoff = "handoff" // a second start of the app ended, as Text says
	Ended   = "ended"   // Name, the app or the desktop, had ended, as Text says
	Keyring = "keyring" // nobody could get at it, as Text says
	Server  = "server"  // the MCP server Name wasn't ready, as Text says
	Draft   = "draft"   // the composer, and the screen in numbers, at the end
	Records = "records" // what records there were that aren't the trial's
)

// Step is one line of StepsFile. It holds no text of the app's but labels of berth's own tables, and no
// prompt but as a hash.
type Step struct {
	At     time.Time `json:"at"`
	What   string    `json:"what"`
	Name   string    `json:"name,omitempty"`
	Screen string    `json:"screen,omitempty"`
	Role   string    `json:"role,omitempty"`
	Action string    `json:"action,omitempty"`
	// Ms is how long it took; At is when it began.
	Ms    float64   `json:"ms,omitempty"`
	Text  string    `json:"text,omitempty"`
	Error code.Code `json:"error,omitempty"`

	Trial   *Trial          `json:"trial,omitempty"`   // of Asked
	Draft   json.RawMessage `json:"draft,omitempty"`   // of Draft: the client's own shape
	Records []Record        `json:"records,omitempty"` // of Records
}

// Trial is what was asked for.
type Trial struct {
	CaseID          string   `json:"caseId"`
	Trial           int      `json:"trial"`
	Surface         string   `json:"surface,omitempty"`
	Model           string   `json:"model"`
	Effort          string   `json:"effort,omitempty"`
	Originator      string   `json:"originator,omitempty"`
	Servers         []string `json:"servers"`
	RequireMCPCalls bool     `json:"requireMcpCalls,omitempty"`
	PromptSHA256    string   `json:"promptSha256"`
	PromptLength    int      `json:"promptLength"` // in characters
	TimeoutMs       int64    `json:"timeoutMs"`
}

// Record is a record of a session that began meanwhile, and that wasn't taken for the trial's.
type Record struct {
	Originator string `json:"originator,omitempty"`
	// Prompts counts those in it, and Same tells that one is the trial's.
	Prompts int  `json:"prompts"`
	Same    bool `json:"same,omitempty"`
	// Elsewhere: it's in another folder than those that records are looked for in.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Unreadable: it isn't a record, or not all of one.
	Unreadable bool `json:"unreadable,omitempty"`
}

// WriteSteps writes them as lines of JSON.
func WriteSteps(w io.Writer, steps []Step) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, s := range steps {
		if err := out.Encode(s); err != nil {
			return err
		}
	}
	return nil
}

// maxStep bounds a line, in bytes.
const maxStep = 1 << 20

// ReadSteps reads what WriteSteps wrote; lines that aren't steps are left out.
func ReadSteps(r io.Reader) ([]Step, error) {
	var steps []Step
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxStep)
	for lines.Scan() {
		var s Step
		if json.Unmarshal(lines.Bytes(), &s) == nil && s.What != "" {
			steps = append(steps, s)
		}
	}
	return steps, lines.Err()
}
