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

	mu      sync.Mutex
	values  map[string]shardproto.Token
	failed  error // writing or removing a file
	arrived chan struct{}
	changed chan struct{}
}

func newTokens(dir string, r *redact.Set, ask func([]string, string)) *tokens {
	return &tokens{
		dir: filepath.Join(dir, serverTokens), redact: r, ask: ask, values: map[string]shardproto.Token{},
		arrived: make(chan struct{}), changed: make(chan struct{}, 1),
	}
}

// take stores what a tokens message brought.
func (t *tokens) take(byServer map[string]shardproto.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for label, token := range byServer {
		t.redact.Add(token.AccessToken)
		t.values[label] = token
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
		due, next := t.due(time.Now().Add(ahead), asked)
		if len(due) > 0 {
			t.ask(due, shardproto.ReasonExpiring)
		}
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = time.After(time.Until(next.Add(-ahead)))
		}
		select {
		case <-timer:
		case <-t.changed:
		case <-ctx.Done():
			return
		}
	}
}

// due lists the servers whose tokens expire by then and weren't asked for, and tells the next expiry.
func (t *tokens) due(by time.Time, asked map[string]string) (due []string, next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for label, token := range t.values {
		expires, err := time.Parse(time.RFC3339, token.ExpiresAt)
		if err != nil || asked[label] == token.ExpiresAt {
			continue
		}
		if expires.After(by) {
			if next.IsZero() || expires.Before(next) {
				next = expires
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
