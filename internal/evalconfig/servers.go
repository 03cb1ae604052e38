package evalconfig

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/berth-run/berth/internal/jsonpos"
	"github.com/berth-run/berth/session/client"
)

// Server is one entry of servers.
type Server struct {
	// Server is what a shard is told. Its Token is set when the file holds the bearer itself, and is
	// never part of JSON.
	client.Server
	// AccessTokenEnv names the variable, here and not in the shard, that holds the bearer; "" for none.
	AccessTokenEnv string

	node     *jsonpos.Node
	refusals []refusal
}

// NeedsToken tells whether the server's bearer has to be handed to the shard.
func (s *Server) NeedsToken() bool { return s.AccessTokenEnv != "" || s.Token != "" }

// refusal is a setting that some clients can't honour; it's a problem only where one of them has
// the server.
type refusal struct {
	offset int
	msg    string
}

// maxMinTools is the contract's.
const maxMinTools = 10_000

var (
	protocolForm = regexp.MustCompile(`^(legacy|auto|\d{4}-\d{2}-\d{2})$`)
	envName      = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	placeholder  = regexp.MustCompile(`\$\{(url|dataDir|bearerToken|pluginRoot:[^}]*)\}`)
)

func (c *checker) servers(cfg *Config) field {
	return func(n *jsonpos.Node) {
		if n.Kind == jsonpos.Array {
			c.invalid(n.Start, `servers must be an object keyed by label, not a list; write {"label": {…}}`)
			return
		}
		c.each(n, "servers", func(m jsonpos.Member) {
			if m.Key == "" {
				c.invalid(m.Start, "a server's label is empty")
			}
			if s, ok := c.server(m); ok {
				cfg.Servers = append(cfg.Servers, s)
			}
		})
	}
}

func (c *checker) server(m jsonpos.Member) (Server, bool) {
	s := Server{node: m.Value}
	s.Label = m.Key
	n := m.Value
	if !c.is(n, jsonpos.Object, "server "+m.Key) {
		return s, false
	}
	if l := n.Get("label"); l != nil {
		c.invalid(l.Start, "a server must not have a label; its key %q is its label", m.Key)
	}
	if conn := n.Get("connector"); conn != nil {
		c.unsupported(n.Start, "connectors come from plugins, and berth loads none; write server %q as the stdio or http server that the connector launches", m.Key)
		return s, true
	}
	fs := c.commonServer(&s)
	what := shape{what: "server " + m.Key, required: []string{"transport"}}
	switch t := n.Get("transport"); {
	case t != nil && t.Kind == jsonpos.String && t.Text == "stdio":
		c.stdio(&s, fs)
		what.required = append(what.required, "command")
	case t != nil && t.Kind == jsonpos.String && t.Text == "http":
		c.http(&s, fs)
		what.required = append(what.required, "serverUrl")
	case t != nil:
		c.invalid(t.Start, `transport must be "stdio" or "http"`)
		return s, true
	}
	c.object(n, what, fs)
	return s, true
}

// commonServer are the keys of both transports; most are for MST's own client.
func (c *checker) commonServer(s *Server) fields {
	ms := func(what string) field {
		return func(n *jsonpos.Node) {
			var v *float64
			c.fraction(&v, what, 0, maxInt)(n)
			if v != nil && *v == 0 {
				c.invalid(n.Start, "%s must be more than 0", what)
			}
		}
	}
	return fields{
		"transport":        c.anyText(&s.Transport, "transport"),
		"label":            func(*jsonpos.Node) {}, // named above
		"capabilities":     c.ignored(jsonpos.Object, "capabilities"),
		"protocolProbe":    c.ignored(jsonpos.Object, "protocolProbe"),
		"connectTimeoutMs": ms("connectTimeoutMs"),
		"requestTimeoutMs": ms("requestTimeoutMs"),
		"callTimeoutMs":    ms("callTimeoutMs"),
		"protocol": func(n *jsonpos.Node) {
			if c.is(n, jsonpos.String, "protocol") && !protocolForm.MatchString(n.Text) {
				c.invalid(n.Start, `protocol must be "legacy", "auto" or a date such as 2025-06-18`)
			}
		},
	}
}

func (c *checker) stdio(s *Server, fs fields) {
	var ignored *bool
	var minTools *int
	fs["command"] = c.literal(s, c.text(&s.Command, "command"))
	fs["args"] = func(n *jsonpos.Node) {
		c.list("args", func(i *jsonpos.Node) {
			var a string
			c.literal(s, c.anyText(&a, "an entry of args"))(i)
			s.Args = append(s.Args, a)
		})(n)
	}
	fs["cwd"] = c.literal(s, c.text(&s.Cwd, "cwd"))
	fs["env"] = func(n *jsonpos.Node) {
		c.textMap(&s.Env, "env")(n)
		for _, m := range n.Members {
			c.literal(s, func(*jsonpos.Node) {})(m.Value)
		}
	}
	fs["inheritEnv"] = c.boolean(&ignored, "inheritEnv")
	fs["quiet"] = c.boolean(&ignored, "quiet")
	fs["minTools"] = func(n *jsonpos.Node) {
		c.integer(&minTools, "minTools", 1, maxMinTools)(n)
		if minTools != nil {
			s.MinTools = *minTools
		}
	}
	for _, key := range []string{"url", "auth", "files"} {
		fs[key] = s.refused(key + " on a stdio server works with Cowork only; take it out, or pass it in args or env")
	}
}

// literal notes placeholders, which only Cowork resolves.
func (c *checker) literal(s *Server, read field) field {
	return func(n *jsonpos.Node) {
		read(n)
		if n.Kind == jsonpos.String && placeholder.MatchString(n.Text) {
			s.refused(placeholder.FindString(n.Text) + " is resolved by Cowork only; write the value")(n)
		}
	}
}

func (c *checker) http(s *Server, fs fields) {
	fs["serverUrl"] = func(n *jsonpos.Node) {
		c.text(&s.URL, "serverUrl")(n)
		u, err := url.Parse(s.URL)
		switch {
		case s.URL == "":
		case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
			c.invalid(n.Start, "serverUrl must be an http or https URL")
		case u.User != nil:
			s.URL = ""
			c.invalid(n.Start, "serverUrl must not hold credentials; name the token's variable in auth.accessTokenEnv")
		}
	}
	fs["auth"] = c.auth(s)
	fs["headers"] = s.refused("headers on an http server aren't supported; only a bearer is, by auth.accessTokenEnv")
	fs["proxy"] = s.refused("proxy on an http server isn't supported")
	fs["tls"] = s.refused("tls on an http server isn't supported; the shard's own trust store is used")
	fs["retryAttempts"] = c.ignored(jsonpos.Number, "retryAttempts")
}

func (c *checker) auth(s *Server) field {
	return func(n *jsonpos.Node) {
		c.object(n, shape{what: "auth"}, fields{
			"accessToken": c.text(&s.Token, "accessToken"),
			"accessTokenEnv": func(n *jsonpos.Node) {
				c.text(&s.AccessTokenEnv, "accessTokenEnv")(n)
				if s.AccessTokenEnv != "" && !envName.MatchString(s.AccessTokenEnv) {
					c.invalid(n.Start, "accessTokenEnv must be a variable's name")
				}
			},
			"oauth":             s.refused("oauth isn't supported; sign in beforehand and name the token's variable in auth.accessTokenEnv"),
			"clientCredentials": s.refused("clientCredentials aren't supported; fetch the token beforehand and name its variable in auth.accessTokenEnv"),
		})
	}
}

func (s *Server) refused(msg string) field {
	return func(n *jsonpos.Node) { s.refusals = append(s.refusals, refusal{n.Start, msg}) }
}

// evalEndpoints holds requireEvalEndpoint.
func (c *checker) evalEndpoints(cfg *Config) {
	if !cfg.RequireEvalEndpoint {
		return
	}
	for _, s := range cfg.Servers {
		u, err := url.Parse(s.URL)
		if s.Transport == "http" && err == nil && s.URL != "" && !strings.Contains(u.Path, "/eval") {
			c.invalid(s.node.Start, "requireEvalEndpoint: the path of server %q has no /eval", s.Label)
		}
	}
}
