package evalconfig

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-run/berth/internal/jsonpos"
	"github.com/berth-run/berth/session/client"
)

// DefaultTimeoutMs is a trial's, when neither clientOptions nor the config says.
const DefaultTimeoutMs = 300_000

// maxTimeoutMs is the longest time that MST's timers take, almost 25 days.
const maxTimeoutMs = 1<<31 - 1

// clientRules is what one client accepts of a config.
type clientRules struct {
	model *regexp.Regexp
	// options checks clientOptions key by key.
	options func(c *checker) fields
	// label that a server may have.
	label    *regexp.Regexp
	reserved []string
	// single: the client is told one trial at a time, and refuses more.
	single bool
	// provider that a model may come from, "" for any.
	provider string
}

var clients = map[string]clientRules{
	ClientChatGPT: {
		model:    regexp.MustCompile(`^[A-Za-z0-9._:-]+$`),
		options:  chatgptOptions,
		label:    regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`),
		reserved: []string{"cua_repl", "codex"},
		single:   true,
		provider: "openai",
	},
	ClientCodex: {
		model:    regexp.MustCompile(`^[A-Za-z0-9._:/@-]+$`),
		options:  codexOptions,
		label:    regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`),
		reserved: []string{"cua_repl", "codex"},
	},
}

// Efforts of the two clients, as the app names them.
var (
	chatgptEfforts = []string{"low", "medium", "high", "xhigh", "max", "ultra"}
	codexEfforts   = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"}
)

func codexOptions(c *checker) fields {
	var s string
	var b *bool
	var i *int
	return fields{
		"reasoningEffort": c.oneOf(&s, "reasoningEffort", codexEfforts...),
		"timeout":         c.integer(&i, "timeout", 1, maxTimeoutMs),
		"requireMcpCalls": c.boolean(&b, "requireMcpCalls"),
		"env":             c.codexEnv,
	}
}

func chatgptOptions(c *checker) fields {
	var s string
	var b *bool
	var i *int
	fs := fields{
		"reasoningEffort":  c.oneOf(&s, "reasoningEffort", chatgptEfforts...),
		"provider":         c.oneOf(&s, "provider", "openai"),
		"timeout":          c.integer(&i, "timeout", 1, maxTimeoutMs),
		"env":              c.chatgptEnv,
		"plugins":          c.chatgptPlugins,
		"configPath":       c.chatgptConfigPath,
		"requireMcpCalls":  c.boolean(&b, "requireMcpCalls"),
		"surface":          c.oneOf(&s, "surface", "chatgpt-work", "codex"),
		"correlation":      c.oneOf(&s, "correlation", "exact_prompt", "prompt_marker"),
		"nativeMaxActions": c.integer(&i, "nativeMaxActions", 1, 64),
		"systemPrompt": func(n *jsonpos.Node) {
			c.invalid(n.Start, "chatgpt takes no systemPrompt; put its text into inputTemplate, around {{input}}")
		},
	}
	for _, key := range []string{"computerUseProvider", "computerUseModel", "computerUseMaxActions"} {
		fs[key] = func(n *jsonpos.Node) {
			c.unsupported(n.Start, "%s is for macOS only, and shards are Linux; take it out", key)
		}
	}
	return fs
}

func (c *checker) chatgptConfigPath(n *jsonpos.Node) {
	if c.is(n, jsonpos.String, "configPath") && !strings.HasSuffix(n.Text, "/.codex/config.toml") {
		c.invalid(n.Start, "configPath on Linux can only be $HOME/.codex/config.toml; take it out")
	}
}

func (c *checker) chatgptPlugins(n *jsonpos.Node) {
	if !c.is(n, jsonpos.Array, "plugins") {
		return
	}
	var all []client.Plugin
	for _, item := range n.Items {
		var p client.Plugin
		c.object(item, shape{what: "a plugin"}, c.plugin(&p))
		all = append(all, p)
	}
	if err := client.CheckPlugins(all); err != nil {
		c.invalid(n.Start, "%v", err)
	}
}

func (c *checker) plugin(p *client.Plugin) fields {
	fs := fields{
		"name": c.text(&p.Name, "a plugin's name"),
		"marketplace": func(n *jsonpos.Node) {
			c.object(n, shape{what: "a plugin's marketplace"}, fields{
				"source": c.text(&p.Marketplace.Source, "marketplace.source"), "ref": c.text(&p.Marketplace.Ref, "marketplace.ref"),
			})
		},
	}
	for _, key := range []string{"mcp", "blockMcpServers"} {
		fs[key] = func(n *jsonpos.Node) {
			c.unsupported(n.Start, "berth installs a plugin as it is; take out its %q, and give servers of your own in \"servers\"", key)
		}
	}
	return fs
}

// chatgptOwn are the variables of the app's environment that berth sets.
var chatgptOwn = []string{
	"PATH", "LANG", "NO_AT_BRIDGE", "ACCESSIBILITY_ENABLED", "GTK_MODULES",
	"HOME", "TMPDIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME",
	"DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "AT_SPI_BUS_ADDRESS", "GNOME_KEYRING_CONTROL",
}

func (c *checker) chatgptEnv(n *jsonpos.Node) { c.envWithout(n, chatgptOwn) }

// codexEnv refuses what the client sets by itself for each trial.
func (c *checker) codexEnv(n *jsonpos.Node) {
	c.envWithout(n, []string{"HOME", "CODEX_HOME", "TMPDIR"})
}

func (c *checker) env(n *jsonpos.Node) {
	c.each(n, "env", func(m jsonpos.Member) {
		if !envName.MatchString(m.Key) {
			c.invalid(m.Start, "env: %q isn't a variable's name", m.Key)
		}
		if c.is(m.Value, jsonpos.String, "env."+m.Key) && strings.ContainsRune(m.Value.Text, 0) {
			c.invalid(m.Value.Start, "env.%s holds a NUL", m.Key)
		}
	})
}

// envWithout takes all variables but those that berth sets itself.
func (c *checker) envWithout(n *jsonpos.Node, own []string) {
	c.env(n)
	for _, m := range n.Members {
		if slices.Contains(own, m.Key) || strings.HasPrefix(m.Key, "BERTH_") || strings.HasPrefix(m.Key, "MST_") {
			c.invalid(m.Start, "env: %s is set by berth for each trial; take it out", m.Key)
		}
	}
}

// client checks one variant's client, model, options and servers against the client's rules, and
// gives the options it runs with.
func (c *checker) client(cfg *Config, v *Variant) json.RawMessage {
	rules, ok := clients[v.Client]
	if !ok {
		c.otherClient(v)
		return nil
	}
	switch {
	case v.Model == "":
		c.invalid(v.at(), "client %s needs a model; set \"model\"", v.Client)
	case !rules.model.MatchString(v.Model):
		c.invalid(v.offset(v.Settings.model), "model %q must match %s for client %s", v.Model, rules.model, v.Client)
	}
	if v.tools != nil {
		c.unsupported(v.tools.Start, "client %s can't show other tool metadata; take out \"tools\"", v.Client)
	}
	if rules.single && cfg.Run.Concurrency != nil && *cfg.Run.Concurrency > 1 {
		c.invalid(cfg.Run.concurrency.Start, "concurrency must be 1 with client %s; use --runner-option shards=N to run side by side", v.Client)
	}
	if rules.provider != "" && cfg.Provider != "" && cfg.Provider != rules.provider {
		c.invalid(v.at(), "client %s works with provider %q only; take out \"provider\": %q", v.Client, rules.provider, cfg.Provider)
	}
	what := shape{what: "clientOptions of " + v.Client}
	for _, o := range v.options {
		c.object(o.node, what, rules.options(c))
	}
	for i := range v.Servers {
		c.serverFits(&v.Servers[i], v.Client, rules)
	}
	c.labelsDiffer(v)
	return mergeOptions(cfg, v)
}

// labelsDiffer: both apps call a server's tools by its label in letters, digits and underscores, so
// that "my-wiki" and "my_wiki" would be one server in a trace.
func (c *checker) labelsDiffer(v *Variant) {
	seen := map[string]string{}
	for _, s := range v.Servers {
		key := strings.ToLower(strings.ReplaceAll(s.Label, "-", "_"))
		if first, ok := seen[key]; ok {
			c.invalid(s.node.Start, "server labels %q and %q can't be told apart by client %s; make them differ by more than case, - and _", first, s.Label, v.Client)
		}
		seen[key] = s.Label
	}
}

func (c *checker) serverFits(s *Server, name string, rules clientRules) {
	for _, r := range s.refusals {
		c.unsupported(r.offset, "%s (client %s)", r.msg, name)
	}
	if !rules.label.MatchString(s.Label) {
		c.invalid(s.node.Start, "server label %q must match %s for client %s", s.Label, rules.label, name)
	}
	if slices.ContainsFunc(rules.reserved, func(r string) bool { return strings.EqualFold(r, s.Label) }) {
		c.invalid(s.node.Start, "server label %q is reserved by client %s; rename it", s.Label, name)
	}
}

// otherClient says what to do about a client that berth doesn't drive.
func (c *checker) otherClient(v *Variant) {
	at := v.offset(v.Settings.client)
	known := []string{ClientChatGPT, ClientCodex}
	either := fmt.Sprintf("%q or %q", ClientChatGPT, ClientCodex)
	switch {
	case v.Settings.client == nil:
		c.unsupported(at, "no client is set, and MST's default %s isn't run by berth; set \"client\" to %s", ClientClaudeCode, either)
	case slices.Contains([]string{ClientMST, ClientClaudeCode, ClientCowork}, v.Client):
		c.unsupported(at, "client %s isn't supported by berth; run it with mst, or set \"client\" to %s", v.Client, either)
	case strings.EqualFold(v.Client, "codex"):
		c.invalid(at, "client %q doesn't exist; did you mean %q?", v.Client, ClientCodex)
	case strings.Contains(v.Client, "/"):
		c.unsupported(at, "client %q comes from a plugin, and berth loads none; berth drives %s", v.Client, either)
	default:
		c.invalid(at, "client %s; berth drives %s", quoteNear(v.Client, known), either)
	}
}

// mergeOptions lays a variant's options over those it inherits, key by key, and fills in the
// timeout.
func mergeOptions(cfg *Config, v *Variant) json.RawMessage {
	merged := map[string]json.RawMessage{"timeout": json.RawMessage(strconv.Itoa(timeout(cfg)))}
	for _, o := range v.options {
		for _, m := range o.node.Members {
			merged[m.Key] = cfg.file.Raw(m.Value)
		}
	}
	raw, err := json.Marshal(merged)
	if err != nil {
		// Every value was parsed before.
		panic(fmt.Sprintf("evalconfig: options that were read can't be written: %v", err))
	}
	return raw
}

func timeout(cfg *Config) int {
	if cfg.Timeout != nil {
		return *cfg.Timeout
	}
	return DefaultTimeoutMs
}
