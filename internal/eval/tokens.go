package eval

import (
	"context"
	"fmt"
	"os"

	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/shardproto"
)

// serverTokens gives the bearers of the eval's MCP servers, from the environment or the secrets
// file, when a shard asks for them. Only access tokens go to a shard.
type serverTokens struct {
	servers map[string]*evalconfig.Server
	env     map[string]string
	secrets *redact.Set
}

func newServerTokens(e *evalconfig.Eval, secretsFile string, secrets *redact.Set) (*serverTokens, error) {
	t := &serverTokens{servers: map[string]*evalconfig.Server{}, env: map[string]string{}, secrets: secrets}
	if secretsFile != "" {
		env, err := readSecrets(secretsFile)
		if err != nil {
			return nil, err
		}
		t.env = env
	}
	for i := range e.Config.Servers {
		s := &e.Config.Servers[i]
		t.servers[s.Label] = s
		if s.Token != "" {
			secrets.Add(s.Token)
		}
	}
	return t, t.present(e)
}

// present finds a missing variable before anything is started.
func (t *serverTokens) present(e *evalconfig.Eval) error {
	for i := range e.Variants {
		for _, s := range e.Variants[i].Servers {
			if s.NeedsToken() {
				if _, err := t.get(s.Label); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Token is runner.Run's ServerToken.
func (t *serverTokens) Token(_ context.Context, label string) (shardproto.Token, error) {
	token, err := t.get(label)
	return shardproto.Token{AccessToken: token}, err
}

func (t *serverTokens) get(label string) (string, error) {
	s := t.servers[label]
	if s == nil || !s.NeedsToken() {
		return "", fmt.Errorf("server %q has no token", label)
	}
	if s.Token != "" {
		return s.Token, nil
	}
	token, ok := t.env[s.AccessTokenEnv]
	if !ok {
		token = os.Getenv(s.AccessTokenEnv)
	}
	if token == "" {
		return "", fmt.Errorf("server %q: its accessTokenEnv %s is not set, neither in the environment nor in --secrets-file", label, s.AccessTokenEnv)
	}
	t.secrets.Add(token)
	return token, nil
}
