package evalconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/berth-run/berth/internal/jsonpos"
)

var configShape = shape{
	what:     "an eval config",
	required: []string{"name", "datasets"},
	renamed: map[string]string{
		"scenarioTemplate":  `write "inputTemplate", with {{input}}`,
		"iterations":        `write "trials"`,
		"accuracyThreshold": `write "passThreshold"`,
		"arms":              `write "variants"`,
		"toolOverrides":     `write "tools"`,
		"host":              `write "client", "model" and "clientOptions"`,
		"hostOptions":       `write "clientOptions"`,
		"profile":           `it's gone; write its settings here`,
	},
}

func (c *checker) config(root *jsonpos.Node, cfg *Config) {
	fs := c.settings(&cfg.Base, "the eval config")
	c.controls(&cfg.Run, fs)
	c.notOurs(cfg, fs)
	var redact, evalOnly *bool
	fs["$schema"] = c.ignored(jsonpos.String, "$schema")
	fs["name"] = c.text(&cfg.Name, "name")
	fs["datasets"] = c.datasets(cfg)
	fs["servers"] = c.servers(cfg)
	fs["variants"] = c.variants(cfg)
	fs["baseline"] = c.text(&cfg.Baseline, "baseline")
	fs["run"] = func(n *jsonpos.Node) {
		run := fields{}
		c.controls(&cfg.Run, run)
		c.object(n, shape{what: "run", renamed: configShape.renamed}, run)
	}
	fs["timeout"] = c.integer(&cfg.Timeout, "timeout", 1, maxTimeoutMs)
	fs["provider"] = c.text(&cfg.Provider, "provider")
	fs["limits"] = c.limits(&cfg.Limits)
	fs["pricing"] = c.pricing(cfg)
	fs["redactStoredResponses"] = c.boolean(&redact, "redactStoredResponses")
	fs["requireEvalEndpoint"] = c.boolean(&evalOnly, "requireEvalEndpoint")
	fs["results"] = c.results(cfg)
	c.object(root, configShape, fs)
	if redact != nil {
		cfg.Redact = *redact
	}
	cfg.RequireEvalEndpoint = evalOnly != nil && *evalOnly
	c.evalEndpoints(cfg)
}

// settings are the keys that a config and a variant share.
func (c *checker) settings(s *Settings, what string) fields {
	return fields{
		"client": func(n *jsonpos.Node) {
			s.client = n
			c.text(&s.Client, "client")(n)
			s.Client = strings.TrimPrefix(s.Client, "mst/client/")
		},
		"model": func(n *jsonpos.Node) {
			s.model = n
			c.text(&s.Model, "model")(n)
		},
		"clientOptions": func(n *jsonpos.Node) { s.ClientOptions = c.clientOptions(n) },
		"toolMap":       c.toolMap(&s.ToolMap),
		"tools": func(n *jsonpos.Node) {
			s.tools = n
			c.toolMetadata(n)
			s.Tools = c.file.Raw(n)
		},
		"inputTemplate": c.inputTemplate(s, what),
	}
}

func (c *checker) clientOptions(n *jsonpos.Node) *Options {
	if !c.is(n, jsonpos.Object, "clientOptions") {
		return nil
	}
	for _, m := range n.Members {
		switch m.Key {
		case "type", "client", "model":
			c.invalid(m.Start, "clientOptions must not have %q; write client and model beside clientOptions", m.Key)
		case "options":
			c.invalid(m.Start, `clientOptions must not nest "options"; write them directly in clientOptions`)
		}
	}
	return &Options{Raw: c.file.Raw(n), node: n}
}

func (c *checker) inputTemplate(s *Settings, what string) field {
	return func(n *jsonpos.Node) {
		c.text(&s.InputTemplate, "inputTemplate")(n)
		if s.InputTemplate != "" && !strings.Contains(s.InputTemplate, inputMark) {
			c.invalid(n.Start, "inputTemplate of %s has no %s, so every case would be the same prompt; add it", what, inputMark)
		}
	}
}

func (c *checker) toolMap(dst *map[string][]string) field {
	return func(n *jsonpos.Node) {
		*dst = map[string][]string{}
		c.each(n, "toolMap", func(m jsonpos.Member) {
			var names []string
			c.texts(&names, "toolMap."+m.Key)(m.Value)
			(*dst)[m.Key] = names
		})
	}
}

func (c *checker) toolMetadata(n *jsonpos.Node) {
	c.each(n, "tools", func(m jsonpos.Member) {
		c.object(m.Value, shape{what: "a tool in tools"}, fields{
			"name":        c.ignored(jsonpos.String, "name"),
			"description": c.ignored(jsonpos.String, "description"),
			"inputSchema": c.ignored(jsonpos.Object, "inputSchema"),
		})
	})
}

// controls are at the top level or under run; given in both places, the later one in the file
// counts.
func (c *checker) controls(r *Controls, fs fields) {
	fs["trials"] = c.integer(&r.Trials, "trials", 1, maxTrials)
	fs["maxCases"] = c.integer(&r.MaxCases, "maxCases", 1, maxInt)
	fs["concurrency"] = func(n *jsonpos.Node) {
		r.concurrency = n
		c.integer(&r.Concurrency, "concurrency", 1, maxInt)(n)
	}
	fs["passThreshold"] = c.fraction(&r.PassThreshold, "passThreshold", 0, 1)
	fs["filterTags"] = c.texts(&r.FilterTags, "filterTags")
}

// maxTrials of one case; each is a run of an app.
const maxTrials = 100_000

func (c *checker) limits(l *Limits) field {
	group := func(dst map[string]int, what string) field {
		return func(n *jsonpos.Node) {
			c.each(n, what, func(m jsonpos.Member) {
				var v *int
				c.integer(&v, what+"."+m.Key, 1, maxInt)(m.Value)
				if v != nil {
					dst[m.Key] = *v
				}
			})
		}
	}
	return func(n *jsonpos.Node) {
		c.object(n, shape{what: "limits"}, fields{
			"providers": group(l.Providers, "limits.providers"),
			"servers":   group(l.Servers, "limits.servers"),
		})
	}
}

func (c *checker) pricing(cfg *Config) field {
	return func(n *jsonpos.Node) {
		cfg.Pricing = map[string]Price{}
		c.each(n, "pricing", func(m jsonpos.Member) {
			var in, out *float64
			var p Price
			c.object(m.Value, shape{what: "a price", required: []string{"input", "output"}}, fields{
				"input":      c.fraction(&in, "input", 0, maxInt),
				"output":     c.fraction(&out, "output", 0, maxInt),
				"cacheRead":  c.fraction(&p.CacheRead, "cacheRead", 0, maxInt),
				"cacheWrite": c.fraction(&p.CacheWrite, "cacheWrite", 0, maxInt),
			})
			if in != nil && out != nil {
				p.Input, p.Output = *in, *out
				cfg.Pricing[m.Key] = p
			}
		})
	}
}

// variants reads the list; that names and labels fit is checked once everything is read.
func (c *checker) variants(cfg *Config) field {
	return c.list("variants", func(n *jsonpos.Node) {
		v := Variant{node: n}
		fs := c.settings(&v.Settings, "a variant")
		fs["name"] = c.text(&v.Name, "name")
		fs["description"] = c.anyText(&v.Description, "description")
		fs["servers"] = func(n *jsonpos.Node) {
			v.labels = n
			c.texts(&v.Labels, "servers")(n)
		}
		fs["metrics"] = c.metrics()
		fs["judges"] = c.judges(cfg)
		fs["coworkSetup"] = c.ignored(jsonpos.Object, "coworkSetup")
		c.object(n, shape{what: "a variant", required: []string{"name"}, renamed: configShape.renamed}, fs)
		cfg.Variants = append(cfg.Variants, v)
	})
}

// variantsAgree checks names, labels and the baseline against each other.
func (c *checker) variantsAgree(cfg *Config) {
	names := map[string]*jsonpos.Node{}
	folders := map[string]*jsonpos.Node{}
	for _, v := range cfg.Variants {
		folder := strings.ToLower(v.Name)
		if first, ok := folders[folder]; ok && v.Name != "" {
			c.invalid(v.node.Start, "a second variant is called %q (the first at %s); names name folders, so make them differ by more than case", v.Name, c.file.Place(first.Start))
		}
		names[v.Name], folders[folder] = v.node, v.node
		if v.labels != nil {
			c.labelsExist(cfg, v.labels)
		}
	}
	if len(cfg.Variants) == 0 {
		names[DefaultVariant] = nil
	}
	if _, ok := names[cfg.Baseline]; cfg.Baseline != "" && !ok {
		*c.problems = append(*c.problems, &Problem{Place: Place{File: c.file.Name}, Kind: ErrInvalid,
			Msg: "baseline " + quoteNear(cfg.Baseline, slices.Sorted(maps.Keys(names))) + "; name one of the variants"})
	}
}

func (c *checker) labelsExist(cfg *Config, list *jsonpos.Node) {
	var labels, seen []string
	for _, s := range cfg.Servers {
		labels = append(labels, s.Label)
	}
	for _, n := range list.Items {
		switch {
		case n.Kind != jsonpos.String || n.Text == "":
		case !slices.Contains(labels, n.Text):
			c.invalid(n.Start, "server %s; add it to servers, or take it out here", quoteNear(n.Text, labels))
		case slices.Contains(seen, n.Text):
			c.invalid(n.Start, "server %q is listed twice; keep one", n.Text)
		}
		seen = append(seen, n.Text)
	}
}

// quoteNear says that name isn't there, and what is near it.
func quoteNear(name string, known []string) string {
	q := `"` + name + `" doesn't exist`
	if near := nearest(name, known); near != "" {
		q += ` (did you mean "` + near + `"?)`
	}
	return q
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
