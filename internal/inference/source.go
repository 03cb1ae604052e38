package inference

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/redact"
)

// defaultTTL is MST's, for a command's token.
const defaultTTL = 5 * time.Minute

// uselessGap is how long no 401 makes the command run again after it has given the refused token
// once more: a gateway that refuses every token must not run it for each request.
const uselessGap = 5 * time.Second

// maxToken is the longest token that a client takes.
const maxToken = 16384

// Source gives the credential, from a cache of a limited age. Every token is registered with the
// Set before anyone sees it.
type Source struct {
	fetch   func(context.Context) (string, error)
	ttl     time.Duration // 0 isn't cached
	secrets *redact.Set

	lock    chan struct{} // of the fields below; a waiter can give up
	token   string
	at      time.Time
	useless time.Time // when fetch last gave the token that was there already
}

// NewSource makes a source of what fetch gives, kept for ttl; 0 asks every time.
func NewSource(fetch func(context.Context) (string, error), ttl time.Duration, secrets *redact.Set) *Source {
	return &Source{fetch: fetch, ttl: ttl, secrets: secrets, lock: make(chan struct{}, 1)}
}

// sourceFromEnv is nil when the environment has no credential. A command is used with a gateway only.
func sourceFromEnv(getenv func(string) string, secrets *redact.Set, gateway bool) (*Source, error) {
	if command := getenv(EnvCommand); command != "" && gateway {
		ttl, err := parseTTL(getenv(EnvCommandTTL))
		if err != nil {
			return nil, err
		}
		return NewSource(fromCommand(command), ttl, secrets), nil
	}
	key := strings.TrimSpace(getenv(EnvAPIKey))
	if key == "" {
		return nil, nil
	}
	if err := checkToken(key); err != nil {
		return nil, fmt.Errorf("%s: %w", EnvAPIKey, err)
	}
	return NewSource(func(context.Context) (string, error) { return key, nil }, 0, secrets), nil
}

func parseTTL(s string) (time.Duration, error) {
	if s == "" {
		return defaultTTL, nil
	}
	ms, err := strconv.ParseInt(s, 10, 32)
	if err != nil || ms <= 0 {
		return 0, ErrTTL
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// Token gives a token that isn't older than the ttl.
func (s *Source) Token(ctx context.Context) (string, error) { return s.lasting(ctx, 0) }

// lasting gives one that isn't older than the ttl even after d more.
func (s *Source) lasting(ctx context.Context, d time.Duration) (string, error) {
	return s.get(ctx, func() bool { return time.Since(s.at)+d < s.ttl })
}

// after gives another token than refused, if there is one: the cached one when that's another
// already, or else a new one.
func (s *Source) after(ctx context.Context, refused string) (string, error) {
	return s.get(ctx, func() bool { return s.token != refused || time.Since(s.useless) < uselessGap })
}

// get gives the cached token while good says so. Callers at the same time share one fetch.
func (s *Source) get(ctx context.Context, good func() bool) (string, error) {
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if s.token != "" && good() {
		return s.token, nil
	}
	token, err := s.fetch(ctx)
	if err != nil {
		return "", err
	}
	s.secrets.Add(token)
	if token == s.token {
		s.useless = time.Now()
	}
	s.token, s.at = token, time.Now()
	return token, nil
}

// checkToken refuses what can't go into a header, or what isn't the token alone.
func checkToken(token string) error {
	switch {
	case token == "":
		return fmt.Errorf("%w: it's empty", ErrToken)
	case len(token) > maxToken:
		return fmt.Errorf("%w: it's longer than %d characters", ErrToken, maxToken)
	case strings.ContainsAny(token, "\r\n"):
		return fmt.Errorf("%w: it has more than one line", ErrToken)
	case strings.HasPrefix(strings.ToLower(token), "bearer "):
		return fmt.Errorf("%w: it begins with \"Bearer\", which isn't part of it", ErrToken)
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return fmt.Errorf("%w: it has a space or a character that isn't printable ASCII", ErrToken)
		}
	}
	return nil
}
