package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/berth-run/berth/internal/redact"
)

// Entry is one request in the log. It has the prompt and never a token.
type Entry struct {
	Seq        int64  `json:"seq"`  // in the order of arrival, from 1; lines are in the order of ending
	Time       string `json:"time"` // RFC 3339, when the request came
	Method     string `json:"method"`
	Path       string `json:"path"`
	Status     int    `json:"status"` // 0: no answer began
	DurationMs int64  `json:"durationMs"`
	// Token is the first 8 hex digits of the bearer's sha256, "" without one.
	Token    string `json:"token,omitempty"`
	Accepted bool   `json:"accepted"`
	// Rotated: the token was replaced after this request.
	Rotated bool `json:"rotated,omitempty"`

	Model        string `json:"model,omitempty"`
	Kind         string `json:"kind,omitempty"` // classic or code
	SessionID    string `json:"sessionId,omitempty"`
	ThreadID     string `json:"threadId,omitempty"`
	TurnID       string `json:"turnId,omitempty"`
	Originator   string `json:"originator,omitempty"`
	Effort       string `json:"effort,omitempty"`
	Prompt       string `json:"prompt,omitempty"`
	PromptSHA256 string `json:"promptSha256,omitempty"`

	Rule string `json:"rule,omitempty"`
	Step int    `json:"step,omitempty"` // from 1
	// Fault is the one that the request met: "status 429", "stall before", "cut".
	Fault string `json:"fault,omitempty"`
	// Call is the tool that the answer calls: "mcp calc.add", "command", "tool view_image".
	Call       string `json:"call,omitempty"`
	Text       string `json:"text,omitempty"`
	ResponseID string `json:"responseId,omitempty"`
	Usage      *Usage `json:"usage,omitempty"`
	// Output is the tool's output that the request brought back.
	Output string `json:"output,omitempty"`
	Error  string `json:"error,omitempty"`
}

func newEntry(r *http.Request, seq int64, now time.Time) *Entry {
	return &Entry{
		Seq: seq, Time: now.UTC().Format(time.RFC3339Nano), Method: r.Method, Path: r.URL.Path,
		SessionID: r.Header.Get("Session-Id"), ThreadID: r.Header.Get("Thread-Id"),
		Originator: r.Header.Get("Originator"),
	}
}

// journal writes whole lines, one at a time, without secrets.
type journal struct {
	secrets *redact.Set
	mu      sync.Mutex
	w       io.Writer
}

func (j *journal) write(e *Entry) {
	if j.w == nil {
		return
	}
	line, err := json.Marshal(e)
	if err != nil {
		return // an Entry is strings and numbers
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, _ = j.w.Write(append(j.secrets.Bytes(line), '\n')) // a request isn't failed for its log
}
