package worker

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/shardproto"
)

// tokens are the servers' bearers, asked for once and again before they expire.
type tokens struct {
	dir    string
	redact *redact.Set
	ask    func(servers []string, reason string)

	now func() time.Time

	mu      sync.Mutex
	values  map[string]held
	failed  error // writing or removing a file
	arrived chan struct{}
	changed chan struct{}
}

// held is a token and when it came.
type held struct {
	shardproto.Token
	at time.Time
}

// left is for how long it's good, by the clock as it is or as it was when the token came, whichever tells less:
// one of them was set, and nobody here knows to the right time. False is for one that doesn't expire.
func (h held) left(now time.Time) (time.Duration, bool) {
	expires, err := time.Parse(time.RFC3339, h.ExpiresAt)
	return min(expires.Sub(now), expires.Sub(h.at)-now.Sub(h.at)), err == nil
}

func newTokens(dir string, r *redact.Set, ask func([]string, string)) *tokens {
	return &tokens{
		dir: filepath.Join(dir, serverTokens), redact: r, ask: ask, now: time.Now, values: map[string]held{},
		arrived: make(chan struct{}), changed: make(chan struct{}, 1),
	}
}

// take stores what a tokens message brought.
func (t *tokens) take(byServer map[string]shardproto.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for label, token := range byServer {
		t.redact.Add(token.AccessToken)
		t.values[label] = held{token, t.now()}
		if err := channel.WriteTokenFile(t.dir, label, []byte(token.AccessToken)); err != nil {
			t.failed = err
		}
	}
	select {
	case <-t.arrived:
	default:
		close(t.arrived)
	}
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// of is a server's present token, "" for none.
func (t *tokens) of(label string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.values[label].AccessToken
}

// await waits for the first tokens; an error is the context's, or that of writing them.
func (t *tokens) await(ctx context.Context) error {
	select {
	case <-t.arrived:
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.failed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// renew asks for each token again ahead of its expiry, once per expiry: a coordinator that answers
// with the same token has no newer one.
func (t *tokens) renew(ctx context.Context, ahead time.Duration) {
	asked := map[string]string{}
	for {
		due, next := t.due(ahead, asked)
		if len(due) > 0 {
			t.ask(due, shardproto.ReasonExpiring)
		}
		var timer <-chan time.Time
		if next > 0 {
			timer = time.After(min(next, lookAgain))
		}
		select {
		case <-timer:
		case <-t.changed:
		case <-ctx.Done():
			return
		}
	}
}

// lookAgain is how soon it shows that the clock was set.
const lookAgain = time.Minute

// due lists the servers whose tokens expire that soon and weren't asked for, and tells in how long the next
// will be; 0 is never.
func (t *tokens) due(ahead time.Duration, asked map[string]string) (due []string, next time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for label, token := range t.values {
		left, expires := token.left(now)
		if !expires || asked[label] == token.ExpiresAt {
			continue
		}
		if left > ahead {
			if next == 0 || left-ahead < next {
				next = left - ahead
			}
			continue
		}
		asked[label] = token.ExpiresAt
		due = append(due, label)
	}
	slices.Sort(due)
	return due, next
}

// remove takes the files away.
func (t *tokens) remove() error { return os.RemoveAll(t.dir) }
