// Package inference is the coordinator's side of the way to the model: which way it is, where its
// credential comes from and how that stays fresh in every shard, and the end of the tunnel that
// carries the shards' requests to the gateway. What the app in the shard is told about all this is
// the worker's business, and what a token may do is the gateway's.
package inference

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/berth-run/berth/internal/inference/models"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client"
)

// Variables of the environment that choose the way, as MST has them.
const (
	EnvBaseURL    = "OPENAI_BASE_URL"
	EnvAPIKey     = "OPENAI_API_KEY"
	EnvCommand    = "MST_LLM_AUTH_COMMAND"
	EnvCommandTTL = "MST_LLM_AUTH_COMMAND_TTL_MS"
)

// Way is how a run's shards reach their model. All methods may be called from several shards at once.
type Way struct {
	mode      string
	base      *url.URL // nil in api-key mode
	source    *Source
	secrets   *redact.Set
	broker    bool
	transport *http.Transport
	timeout   time.Duration // for the models list

	mu     sync.Mutex
	shards map[int]*shard
}

// shard is what a Way holds for one shard.
type shard struct {
	ticket  string // broker mode: what stands for the credential
	renewer *renewer
	stats   counter
}

// FromEnv chooses as MST does: a gateway when OPENAI_BASE_URL is set, with a token by
// MST_LLM_AUTH_COMMAND, or else OPENAI_API_KEY; OpenAI itself with OPENAI_API_KEY; or ErrNoWay.
func FromEnv(getenv func(string) string, secrets *redact.Set) (*Way, error) {
	base, key := getenv(EnvBaseURL), getenv(EnvAPIKey)
	source, err := sourceFromEnv(getenv, secrets, base != "")
	if err != nil {
		return nil, err
	}
	switch {
	case base != "" && source == nil:
		return nil, ErrNoToken
	case base != "":
		return ToGateway(base, source, secrets)
	case key == "":
		return nil, ErrNoWay
	}
	return &Way{mode: client.ModeAPIKey, source: source, secrets: secrets, shards: map[int]*shard{}}, nil
}

// ToGateway is the way to a gateway at baseURL ("https://llm.corp.test/v1").
func ToGateway(baseURL string, source *Source, secrets *redact.Set) (*Way, error) {
	base, err := parseBase(baseURL)
	if err != nil {
		return nil, err
	}
	return &Way{
		mode: client.ModeGateway, base: base, source: source, secrets: secrets,
		transport: newTransport(), timeout: models.Timeout, shards: map[int]*shard{},
	}, nil
}

func parseBase(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil: // url.Error repeats the URL, which may hold a password
		return nil, fmt.Errorf("%w: it can't be parsed", ErrBaseURL)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%w: it must be http://HOST… or https://HOST…", ErrBaseURL)
	case u.User != nil:
		return nil, fmt.Errorf("%w: it has a user name or password; give the token by %s or %s", ErrBaseURL, EnvCommand, EnvAPIKey)
	case u.Fragment != "":
		return nil, fmt.Errorf("%w: it has a #fragment", ErrBaseURL)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// Broker keeps the credential out of the shards: each gets a ticket of its own, which only its own
// tunnel takes, and the tunnel swaps it for the credential. It fails with ErrBrokerMode in api-key
// mode. Call it before the first Provide.
func (w *Way) Broker() error {
	if w.mode != client.ModeGateway {
		return ErrBrokerMode
	}
	w.broker = true
	return nil
}

// Mode is client.ModeGateway or client.ModeAPIKey.
func (w *Way) Mode() string { return w.mode }

// Path is the base URL's path, "/v1": the shard's base URL is the tunnel's address with it.
func (w *Way) Path() string { return w.base.EscapedPath() }

// ProbePath is the models list below the tunnel's address.
func (w *Way) ProbePath() string { return w.Path() + "/models" }

// Provide writes a shard's credential, and again every four minutes and after a 401, for as long as
// ctx lives. It returns after the first write; later failures are told to warn, redacted.
func (w *Way) Provide(ctx context.Context, index int, write func(context.Context, []byte) error, warn func(error)) error {
	s := w.shard(index)
	if s.ticket != "" {
		return write(ctx, []byte(s.ticket))
	}
	r := &renewer{source: w.source, write: write, warn: func(err error) { warn(w.secrets.Error(err)) }}
	if err := r.renew(ctx, ""); err != nil {
		return w.secrets.Error(err)
	}
	w.mu.Lock()
	s.renewer = r
	w.mu.Unlock()
	go r.run(ctx)
	return nil
}

// shard gives the shard's state, which it makes at the first call.
func (w *Way) shard(index int) *shard {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.shards[index]
	if s == nil {
		s = &shard{}
		if w.broker {
			s.ticket = newTicket()
			w.secrets.Add(s.ticket)
		}
		w.shards[index] = s
	}
	return s
}

func (w *Way) renewerOf(s *shard) *renewer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return s.renewer
}
