package chatgpt

import (
	"context"
	"maps"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/mcp"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/codexconfig"
	"github.com/berth-run/berth/session/client/engine"
	"github.com/berth-run/berth/session/client/process"
)

// ready proves what can be proved before the app starts: the config, the login, every MCP server, and
// that the engine takes them.
func (s *batch) ready(ctx context.Context) error {
	if err := s.life.step(StepConfig, s.configure); err != nil {
		return err
	}
	if s.batch.Inference.Mode == client.ModeAPIKey {
		if err := s.life.step(StepLogin, func() error { return s.login(ctx) }); err != nil {
			return err
		}
	}
	if len(s.batch.Servers) > 0 {
		if err := s.life.step(StepPreflight, func() error { return s.preflight(ctx) }); err != nil {
			return err
		}
	}
	if len(s.settings.Plugins) > 0 {
		if err := s.life.step(StepPlugins, func() error { return s.plugins(ctx) }); err != nil {
			return err
		}
	}
	return s.life.step(StepProbe, func() error {
		return s.codex(s.env.withTokens(codexconfig.TokenEnv(s.batch.Servers))).Probe(ctx, "berth", s.batch.Servers, &s.readiness)
	})
}

// configure writes config.toml, once: the app keeps settings of its own in it afterwards.
func (s *batch) configure() error {
	name, value := process.MarkEnv(s.mark)
	text, err := codexconfig.New(codexconfig.Settings{
		Credentials: codexconfig.InKeyring,
		Model:       s.batch.Model, Effort: s.settings.ReasoningEffort, Workspace: s.profile.workspace,
		Inference: s.batch.Inference, Servers: s.batch.Servers,
		// Codex cleans the environment that its servers get; by this they're still found at the end.
		ServerEnv: map[string]string{name: value},
	})
	if err == nil {
		err = s.profile.writeConfig(text)
	}
	if err != nil {
		return code.Errorf(code.HomeUnsafe, "config.toml: %w", err)
	}
	s.readiness.BuiltinToolPolicy = codexconfig.ToolPolicy()
	return nil
}

// codex is the binary that the app's engine is, in the app's profile.
func (s *batch) codex(env []string) engine.Codex {
	return engine.Codex{Path: s.client.opts.CodexPath, Dir: s.profile.workspace, Env: env, Mark: s.mark, Redact: s.redact}
}

func (s *batch) login(ctx context.Context) error {
	s.readiness.Login = "failed"
	if err := s.codex(s.env.plain()).Login(ctx, s.batch.Inference.TokenFile); err != nil {
		return err
	}
	s.readiness.Login = "verified"
	return nil
}

// plugins installs the variant's: the app and the probe find them in CODEX_HOME.
func (s *batch) plugins(ctx context.Context) error {
	installed, err := s.codex(s.env.plain()).AddPlugins(ctx, s.settings.Plugins)
	s.readiness.Plugins = installed
	return err
}

func (s *batch) preflight(ctx context.Context) error {
	env := maps.Clone(s.env)
	delete(env, "CODEX_HOME") // it is the app's business
	all, err := mcp.Preflight(ctx, s.batch.Servers, mcp.Options{Env: env.plain(), Dir: s.profile.workspace, Redact: s.redact})
	s.readiness.MCPPreflight = all
	return err
}
