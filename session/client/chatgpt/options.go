package chatgpt

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/engine"
	"github.com/berth-run/berth/session/client/turn"
)

// Options say where the app and its desktop are. Only Desktop has no default.
type Options struct {
	// Desktop gives the running desktop, a new one when the last has ended. It stays its owner's.
	Desktop func(context.Context) (*session.Session, error)
	// AppPath is the app; "" is MST_CHATGPT_APP_PATH in this process's environment, else DefaultAppPath.
	AppPath string
	// CodexPath is the Codex that logs in and is probed; "" is MST_CHATGPT_CODEX_PATH, else engine's.
	CodexPath string
	// Home is where each batch's profile is made; "" is DefaultHome.
	Home string
	// Redact is applied to all text that leaves the client; nil starts an empty set. The client adds
	// the secrets that it gets to see.
	Redact *redact.Set
	// Limits replace the contract's, for tests; zero fields keep theirs.
	Limits Limits
	// LimitsFile names a JSON file with limits by variant, for tests that have the client in a shard; "" is
	// DefaultLimitsFile, which no image has but a test's.
	LimitsFile string
}

// Limits are the client's waiting times.
type Limits struct {
	Turn   turn.Limits
	Driver driver.Limits
	// Settle is how long a started app is left alone: 500 ms.
	Settle time.Duration
	// Handoff is how long a second start may take: 20 s.
	Handoff time.Duration
	// Asks is how often is looked for what only a person could answer, while a turn is on: 5 s.
	Asks time.Duration
	// End is how long the end of an app that was seen to go may take to be known: 15 s.
	End time.Duration
}

// poll is how often a record is looked at. Nothing tells of its growth here, and a look costs little.
const poll = 100 * time.Millisecond

func (o Options) orDefault() Options {
	o.AppPath = cmp.Or(o.AppPath, os.Getenv("MST_CHATGPT_APP_PATH"), DefaultAppPath)
	o.CodexPath = cmp.Or(o.CodexPath, os.Getenv("MST_CHATGPT_CODEX_PATH"), engine.DefaultPath)
	o.Home = cmp.Or(o.Home, DefaultHome)
	o.LimitsFile = cmp.Or(o.LimitsFile, DefaultLimitsFile)
	if o.Redact == nil {
		o.Redact = &redact.Set{}
	}
	o.Limits = o.Limits.orDefault()
	return o
}

func (l Limits) orDefault() Limits {
	l.Turn.Poll = cmp.Or(l.Turn.Poll, poll)
	l.Turn = l.Turn.OrDefault()
	l.Settle = cmp.Or(l.Settle, 500*time.Millisecond)
	l.Handoff = cmp.Or(l.Handoff, 20*time.Second)
	l.Asks = cmp.Or(l.Asks, askGap)
	l.End = cmp.Or(l.End, endWait)
	return l
}
