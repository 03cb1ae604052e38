package codex

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/mcp"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/codexconfig"
	"github.com/berth-run/berth/session/client/engine"
	"github.com/berth-run/berth/session/client/process"
	"github.com/berth-run/berth/session/client/turn"
)

// Setup is where Codex is and where its trials live.
type Setup struct {
	// Path is the Codex binary; "" is DefaultPath.
	Path string
	// Dir holds the trials' folders; "" is .berth-codex in HOME. As each trial has a temporary folder of
	// its own, it may be anywhere: Codex doesn't run commands with its home below TMPDIR.
	Dir string
	// Redact is applied to all text that leaves the client; nil starts an empty set. The client adds
	// the secrets that it gets to see.
	Redact *redact.Set
	// Limits replace the contract's, for tests; zero fields keep theirs.
	Limits turn.Limits
}

// Client drives Codex. It implements client.Client.
type Client struct{ opts Setup }

var _ client.Client = (*Client)(nil)

// New makes a client; nothing is started or looked at before Open.
func New(s Setup) *Client {
	if s.Path == "" {
		s.Path = DefaultPath
	}
	if s.Dir == "" {
		home, _ := os.UserHomeDir() // "" is found out by Open
		s.Dir = filepath.Join(home, ".berth-codex")
	}
	if s.Redact == nil {
		s.Redact = &redact.Set{}
	}
	s.Limits = s.Limits.OrDefault()
	return &Client{opts: s}
}

// Info asks the binary for its version.
func (c *Client) Info(ctx context.Context) (client.Info, error) {
	info := client.Info{Name: Name}
	v, err := engine.Version(ctx, c.opts.Path)
	info.Version = v
	return info, err
}

// session is one batch. It implements client.Session.
type session struct {
	client    *Client
	batch     client.Batch
	options   Options
	redact    *redact.Set
	dir       string // the batch's homes
	readiness client.Readiness

	mu     sync.Mutex
	broken error // a trial couldn't be cleaned up: no other may run beside what is left
}

// Open readies a batch: settings, machine, API key, MCP servers, and one start of the app server.
func (c *Client) Open(ctx context.Context, b client.Batch) (client.Session, error) {
	o, err := CheckBatch(b)
	if err != nil {
		return nil, err
	}
	if err := c.checkMachine(b.EvidenceDir); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(c.opts.Dir, "batch-")
	if err != nil {
		return nil, code.Errorf(code.HomeUnsafe, "%w", err)
	}
	s := &session{client: c, batch: b, options: o, redact: c.opts.Redact, dir: dir}
	for _, srv := range b.Servers {
		s.redact.Add(srv.Token)
	}
	engine.NoteToken(b.Inference, s.redact)
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(s.clean(err), s.Close(ctx))
	}
	return s, nil
}

// ready proves what can be proved before the first prompt, in a home of its own that is gone after.
func (s *session) ready(ctx context.Context) (err error) {
	s.readiness = client.Readiness{
		Login: "not-run", Inference: s.batch.Inference.Mode, MCPPreflight: []client.ServerStatus{},
	}
	if err := s.roomy(); err != nil {
		return err
	}
	h, err := newHome(s.dir)
	defer func() { err = errors.Join(err, h.remove()) }()
	if err != nil {
		return err
	}
	mark := process.NewMark()
	if err := s.configure(h, mark); err != nil {
		return err
	}
	if s.batch.Inference.Mode == client.ModeAPIKey {
		s.readiness.Login = "failed"
		if err := s.login(ctx, h, mark); err != nil {
			return err
		}
		s.readiness.Login = "verified"
	}
	if err := s.preflight(ctx, h); err != nil {
		return err
	}
	return s.codex(h, mark).Probe(ctx, Originator, s.batch.Servers, &s.readiness)
}

// codex is the binary as a trial with this home starts it.
func (s *session) codex(h home, mark string) engine.Codex {
	return engine.Codex{
		Path: s.client.opts.Path, Dir: h.workspace(), Mark: mark, Redact: s.redact,
		Env: environ(h, s.batch.Servers, s.options.Env),
	}
}

// login stores the API key in a home. What the servers and the agent get isn't for it.
func (s *session) login(ctx context.Context, h home, mark string) error {
	c := s.codex(h, mark)
	c.Env = environ(h, nil, nil)
	return c.Login(ctx, s.batch.Inference.TokenFile)
}

// rules are what the variant asks of a turn.
func (s *session) rules() turn.Rules {
	return turn.Rules{
		Model: s.batch.Model, Effort: s.options.ReasoningEffort,
		Labels: codexconfig.Labels(s.batch.Servers), RequireMCPCalls: s.options.RequireMCPCalls,
	}
}

func (s *session) preflight(ctx context.Context, h home) error {
	if len(s.batch.Servers) == 0 {
		return nil
	}
	all, err := mcp.Preflight(ctx, s.batch.Servers, mcp.Options{
		Env: engine.Environ(baseEnv(h)), Dir: h.workspace(), Redact: s.redact,
	})
	s.readiness.MCPPreflight = all
	return err
}

// configure writes a home's config.toml.
func (s *session) configure(h home, mark string) error {
	name, value := process.MarkEnv(mark)
	text, err := codexconfig.New(codexconfig.Settings{
		// A trial's home is gone with the trial, and there's no keyring without a desktop.
		Credentials: codexconfig.InFile,
		Model:       s.batch.Model, Effort: s.options.ReasoningEffort, Workspace: h.workspace(),
		Inference: s.batch.Inference, Servers: s.batch.Servers,
		// Codex cleans the environment that its servers get; by this they're still found at the end.
		ServerEnv: map[string]string{name: value},
	})
	if err == nil {
		err = h.writeConfig(text)
	}
	if err != nil {
		return code.Errorf(code.HomeUnsafe, "config.toml: %w", err)
	}
	return nil
}

// Readiness is what Open proved.
func (s *session) Readiness() client.Readiness { return s.readiness }

// Close removes the batch's folder. Every trial has ended its own processes before.
func (s *session) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.broken, home{dir: s.dir}.remove())
}

// clean redacts an error and keeps its code.
func (s *session) clean(err error) error {
	if c := code.Of(err); c != "" {
		return &code.Error{Code: c, Detail: code.Line(s.redact.String(code.Detail(err))), Err: err}
	}
	return s.redact.Error(err)
}
