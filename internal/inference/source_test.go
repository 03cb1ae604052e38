package inference

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestFromEnv(t *testing.T) {
	for _, tt := range []struct {
		name  string
		env   map[string]string
		mode  string
		token string
		err   error
	}{
		{"nothing", nil, "", "", ErrNoWay},
		{"key alone", map[string]string{EnvAPIKey: "sk-1234567890"}, client.ModeAPIKey, "sk-1234567890", nil},
		{"gateway with key", map[string]string{EnvBaseURL: "https://llm.test/v1", EnvAPIKey: "sk-1234567890\n"}, client.ModeGateway, "sk-1234567890", nil},
		{"command before key", map[string]string{EnvBaseURL: "https://llm.test/v1", EnvAPIKey: "sk-1", EnvCommand: "echo cmd-token"}, client.ModeGateway, "cmd-token", nil},
		{"command without gateway", map[string]string{EnvCommand: "echo cmd-token", EnvAPIKey: "sk-1234567890"}, client.ModeAPIKey, "sk-1234567890", nil},
		{"only a command", map[string]string{EnvCommand: "echo cmd-token"}, "", "", ErrNoWay},
		{"gateway without token", map[string]string{EnvBaseURL: "https://llm.test/v1"}, "", "", ErrNoToken},
		{"bad ttl", map[string]string{EnvBaseURL: "https://llm.test/v1", EnvCommand: "echo x", EnvCommandTTL: "5m"}, "", "", ErrTTL},
		{"bad key", map[string]string{EnvAPIKey: "two words"}, "", "", ErrToken},
		{"no scheme", map[string]string{EnvBaseURL: "llm.test/v1", EnvAPIKey: "k"}, "", "", ErrBaseURL},
		{"password in it", map[string]string{EnvBaseURL: "https://u:p@llm.test/v1", EnvAPIKey: "k"}, "", "", ErrBaseURL},
		{"not a URL", map[string]string{EnvBaseURL: "https://u:p@llm.test:port/v1", EnvAPIKey: "k"}, "", "", ErrBaseURL},
	} {
		t.Run(tt.name, func(t *testing.T) {
			secrets := new(redact.Set)
			way, err := FromEnv(env(tt.env), secrets)
			if !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			token, err := way.source.Token(t.Context())
			if way.Mode() != tt.mode || token != tt.token || err != nil {
				t.Errorf("mode %q, token %q, %v; want %q, %q", way.Mode(), token, err, tt.mode, tt.token)
			}
			if got := secrets.String("x " + token); got != "x "+redact.Mask {
				t.Errorf("the token isn't registered: %q", got)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	for base, want := range map[string]string{
		"https://llm.test/v1": "/v1/models", "https://llm.test/v1/": "/v1/models",
		"https://llm.test": "/models", "https://llm.test/": "/models",
		"https://llm.test/openai/a%20b/v1?api-version=1": "/openai/a%20b/v1/models",
	} {
		way, err := ToGateway(base, nil, nil)
		if err != nil || way.ProbePath() != want {
			t.Errorf("%s: %q, %v; want %q", base, way.ProbePath(), err, want)
		}
	}
}

// counting is a fetch that numbers its tokens.
type counting struct {
	mu  sync.Mutex
	n   int
	err error
}

func (c *counting) fetch(context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return "", c.err
	}
	c.n++
	return fmt.Sprintf("token-number-%d", c.n), nil
}

func TestSourceKeepsATokenForItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counting
		s := NewSource(c.fetch, time.Minute, new(redact.Set))
		for i, step := range []struct {
			wait time.Duration
			want string
		}{{0, "token-number-1"}, {59 * time.Second, "token-number-1"}, {time.Second, "token-number-2"}} {
			time.Sleep(step.wait)
			if got, err := s.Token(t.Context()); got != step.want || err != nil {
				t.Errorf("step %d: %q, %v; want %q", i, got, err, step.want)
			}
		}
	})
}

func TestSourceAfterARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, token := 0, "first-token"
		s := NewSource(func(context.Context) (string, error) { runs++; return token, nil }, time.Hour, new(redact.Set))
		first, _ := s.Token(t.Context())
		// It's refused and there's no other: the command runs once for many refusals.
		for range 10 {
			s.after(t.Context(), first)
		}
		if runs != 2 {
			t.Errorf("%d runs, want 2", runs)
		}
		token = "second-token"
		time.Sleep(uselessGap)
		if got, err := s.after(t.Context(), first); got != token || err != nil || runs != 3 {
			t.Errorf("got %q, %v after %d runs", got, err, runs)
		}
		// Another shard still has the first one: it gets the second without a run.
		if got, _ := s.after(t.Context(), first); got != token || runs != 3 {
			t.Errorf("got %q after %d runs", got, runs)
		}
	})
}

func TestSourceWaitersCanGiveUp(t *testing.T) {
	release := make(chan struct{})
	started := make(chan struct{})
	s := NewSource(func(context.Context) (string, error) { close(started); <-release; return "the-token", nil }, time.Hour, new(redact.Set))
	done := make(chan error)
	go func() { _, err := s.Token(context.Background()); done <- err }()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Token(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Every four minutes for as long as the shard lives, whatever goes wrong in between.
func TestProvide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counting
		secrets := new(redact.Set)
		way, err := ToGateway("https://llm.test/v1", NewSource(c.fetch, defaultTTL, secrets), secrets)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var written, warned []string
		note := func(list *[]string, s string) {
			*list = append(*list, fmt.Sprintf("%s %s", time.Since(began), s))
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = way.Provide(ctx, 0,
			func(_ context.Context, token []byte) error { note(&written, string(token)); return nil },
			func(err error) { note(&warned, err.Error()) })
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute) // the renewal at 4m is done
		c.mu.Lock()
		c.err = errors.New("refused for token-number-2")
		c.mu.Unlock()
		time.Sleep(3*time.Minute + 20*time.Second) // 8m fails, and so does 8m15s
		c.mu.Lock()
		c.err = nil
		c.mu.Unlock()
		time.Sleep(5 * time.Minute) // it works at 8m45s, and again 4 minutes later
		cancel()
		synctest.Wait()
		want := "[0s token-number-1 4m0s token-number-2 8m45s token-number-3 12m45s token-number-4]"
		if got := fmt.Sprint(written); got != want {
			t.Errorf("written %s, want %s", got, want)
		}
		if got, want := fmt.Sprint(warned), "[8m0s refused for [redacted] 8m15s refused for [redacted]]"; got != want {
			t.Errorf("warned %s, want %s", got, want)
		}
	})
}

func TestProvideFailsAtOnceTheFirstTime(t *testing.T) {
	broken := errors.New("no token")
	way, err := ToGateway("https://llm.test/v1", NewSource((&counting{err: broken}).fetch, 0, new(redact.Set)), new(redact.Set))
	if err != nil {
		t.Fatal(err)
	}
	err = way.Provide(t.Context(), 0, func(context.Context, []byte) error { return errors.New("written") }, func(error) {})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
