// Package codexconfig writes config.toml for Codex as the engine of an app under test, whichever app
// that is: what it may do, where its model is, which MCP servers it has. It's the one place for that
// policy, and for what of a variant's servers and inference such a config can hold.
package codexconfig

import (
	"bytes"
	"strconv"

	"github.com/BurntSushi/toml"

	"github.com/berth-run/berth/session/client"
)

// maxConfig bounds config.toml (contract §4.1).
const maxConfig = 128 << 10

// provider is the gateway's id in config.toml.
const provider = "mst_gateway"

// Where Codex keeps a login (Settings.Credentials).
const (
	InFile    = "file" // in CODEX_HOME, where there's no keyring
	InKeyring = "keyring"
)

// Settings are what one config.toml is made from.
type Settings struct {
	Credentials string
	Model       string
	// Effort is a reasoning effort, "" for the model's own.
	Effort    string
	Workspace string
	Inference client.Inference
	Servers   []client.Server
	// ServerEnv is added to every stdio server's environment.
	ServerEnv map[string]string
}

// The keys of config.toml, for Codex 0.171 (contract §4.1 and §6.1).
type config struct {
	CredentialsStore string `toml:"cli_auth_credentials_store"`
	Model            string `toml:"model"`
	Effort           string `toml:"model_reasoning_effort,omitempty"`
	Provider         string `toml:"model_provider,omitempty"`
	ApprovalPolicy   string `toml:"approval_policy"`
	SandboxMode      string `toml:"sandbox_mode"`
	WebSearch        string `toml:"web_search"`
	CheckForUpdate   bool   `toml:"check_for_update_on_startup"`

	Providers map[string]providerTable `toml:"model_providers,omitempty"`
	Features  map[string]bool          `toml:"features"`
	Plugins   map[string]pluginTable   `toml:"plugins"`
	Projects  map[string]projectTable  `toml:"projects"`
	Servers   map[string]serverTable   `toml:"mcp_servers,omitempty"`
	ShellEnv  *shellEnvTable           `toml:"shell_environment_policy,omitempty"`
}

type providerTable struct {
	Name    string    `toml:"name"`
	BaseURL string    `toml:"base_url"`
	WireAPI string    `toml:"wire_api"`
	Auth    authTable `toml:"auth"`
}

type authTable struct {
	Command           string   `toml:"command"`
	Args              []string `toml:"args"`
	RefreshIntervalMs int      `toml:"refresh_interval_ms"`
}

type pluginTable struct {
	Enabled bool `toml:"enabled"`
}

type projectTable struct {
	TrustLevel string `toml:"trust_level"`
}

type shellEnvTable struct {
	Exclude []string `toml:"exclude"`
}

type serverTable struct {
	Command string            `toml:"command,omitempty"`
	Args    []string          `toml:"args,omitempty"`
	Cwd     string            `toml:"cwd,omitempty"`
	Env     map[string]string `toml:"env,omitempty"`
	URL     string            `toml:"url,omitempty"`
	Bearer  string            `toml:"bearer_token_env_var,omitempty"`
	// StartupTimeout is in seconds: connectors may be slow at their first start.
	StartupTimeout int `toml:"startup_timeout_sec"`
}

// What of Codex's own is off: with a browser or a search at hand the servers under test aren't used, and
// workspace_dependencies unpacks 1.6 GB at start.
const (
	webSearch       = "disabled"
	disabledFeature = "workspace_dependencies"
	disabledPlugin  = "unified-computer-use@openai-bundled"
)

// ToolPolicy says so, for a trial's record.
func ToolPolicy() *client.ToolPolicy {
	return &client.ToolPolicy{
		DisabledPlugins: []string{disabledPlugin}, WebSearch: webSearch, DisabledFeatures: []string{disabledFeature},
	}
}

// New is a config.toml. It holds no secret: tokens are in the token file and in the app's
// environment. minTools is berth's own and isn't in it.
func New(s Settings) ([]byte, error) {
	c := config{
		CredentialsStore: s.Credentials,
		Model:            s.Model,
		Effort:           s.Effort,
		ApprovalPolicy:   "never",
		SandboxMode:      "danger-full-access", // the shard is the sandbox; bubblewrap can't nest in it
		WebSearch:        webSearch,
		Features:         map[string]bool{disabledFeature: false},
		Plugins:          map[string]pluginTable{disabledPlugin: {}},
		Projects:         map[string]projectTable{s.Workspace: {TrustLevel: "trusted"}},
		Servers:          map[string]serverTable{},
	}
	if s.Inference.Mode == client.ModeGateway {
		c.Provider = provider
		c.Providers = map[string]providerTable{provider: gatewayTable(s.Inference)}
	}
	for i, srv := range s.Servers {
		c.Servers[srv.Label] = serverEntry(i, srv, s.ServerEnv)
		if srv.Token != "" {
			// The app needs the bearer; the commands that the model runs don't.
			c.ShellEnv = &shellEnvTable{Exclude: []string{tokenVarPrefix + "*"}}
		}
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(c); err != nil {
		return nil, err
	}
	if err := bounded(b.Len()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func gatewayTable(i client.Inference) providerTable {
	return providerTable{
		Name: "gateway", BaseURL: i.BaseURL, WireAPI: "responses",
		Auth: authTable{Command: "/bin/cat", Args: []string{i.TokenFile}, RefreshIntervalMs: 60_000},
	}
}

func serverEntry(index int, s client.Server, extra map[string]string) serverTable {
	t := serverTable{StartupTimeout: 30}
	if s.URL != "" {
		t.URL = s.URL
		if s.Token != "" {
			t.Bearer = TokenVar(index)
		}
		return t
	}
	t.Command, t.Args, t.Cwd, t.Env = s.Command, s.Args, s.Cwd, map[string]string{}
	for name, value := range s.Env {
		t.Env[name] = value
	}
	for name, value := range extra {
		t.Env[name] = value
	}
	return t
}

// TokenVar names the variable that holds a server's bearer, by its place in the variant's list.
func TokenVar(index int) string { return tokenVarPrefix + strconv.Itoa(index) }

const tokenVarPrefix = "MST_CHATGPT_MCP_TOKEN_"

// TokenEnv is what the app needs in its environment, and nothing else may have: the servers' bearers.
func TokenEnv(servers []client.Server) map[string]string {
	vars := map[string]string{}
	for i, s := range servers {
		if s.URL != "" && s.Token != "" {
			vars[TokenVar(i)] = s.Token
		}
	}
	return vars
}

// Sample is a config.toml with every key that New can write, for a check against a Codex binary when an
// image is built.
func Sample() []byte {
	b, err := New(Settings{
		Credentials: InFile, Model: "gpt-5.5", Effort: "medium", Workspace: "/home/berth/workspace",
		Inference: client.Inference{Mode: client.ModeGateway, BaseURL: "http://127.0.0.1:4180/v1", TokenFile: "/run/berth/tokens/inference"},
		Servers: []client.Server{
			{Label: "files", Command: "/usr/bin/true", Args: []string{"-v"}, Cwd: "/", Env: map[string]string{"A": "b"}},
			{Label: "wiki", URL: "http://127.0.0.1:1/mcp", Token: "x"},
		},
	})
	if err != nil {
		panic(err) // constant input; a test makes it
	}
	return b
}
