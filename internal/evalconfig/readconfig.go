package evalconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
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

func (c *checker) config(root *node, cfg *Config) {
	fs := c.settings(&cfg.Base, "the eval config")
	c.controls(&cfg.Run, fs)
	c.notOurs(cfg, fs)
	var redact, evalOnly *bool
	fs["$schema"] = c.ignored(kindString, "$schema")
	fs["name"] = c.text(&cfg.Name, "name")
	fs["datasets"] = c.datasets(cfg)
	fs["servers"] = c.servers(cfg)
	fs["variants"] = c.variants(cfg)
	fs["baseline"] = c.text(&cfg.Baseline, "baseline")
	fs["run"] = func(n *node) {
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
		"client": func(n *node) {
			s.client = n
			c.text(&s.Client, "client")(n)
			s.Client = strings.TrimPrefix(s.Client, "mst/client/")
		},
		"model": func(n *node) {
			s.model = n
			c.text(&s.Model, "model")(n)
		},
		"clientOptions": func(n *node) { s.ClientOptions = c.clientOptions(n) },
		"toolMap":       c.toolMap(&s.ToolMap),
		"tools": func(n *node) {
			s.tools = n
			c.toolMetadata(n)
			s.Tools = c.file.raw(n)
		},
		"inputTemplate": c.inputTemplate(s, what),
	}
}

func (c *checker) clientOptions(n *node) *Options {
	if !c.is(n, kindObject, "clientOptions") {
		return nil
	}
	for _, m := range n.members {
		switch m.key {
		case "type", "client", "model":
			c.invalid(m.start, "clientOptions must not have %q; write client and model beside clientOptions", m.key)
		case "options":
			c.invalid(m.start, `clientOptions must not nest "options"; write them directly in clientOptions`)
		}
	}
	return &Options{Raw: c.file.raw(n), node: n}
}

func (c *checker) inputTemplate(s *Settings, what string) field {
	return func(n *node) {
		c.text(&s.InputTemplate, "inputTemplate")(n)
		if s.InputTemplate != "" && !strings.Contains(s.InputTemplate, inputMark) {
			c.invalid(n.start, "inputTemplate of %s has no %s, so every case would be the same prompt; add it", what, inputMark)
		}
	}
}

func (c *checker) toolMap(dst *map[string][]string) field {
	return func(n *node) {
		*dst = map[string][]string{}
		c.each(n, "toolMap", func(m member) {
			var names []string
			c.texts(&names, "toolMap."+m.key)(m.value)
			(*dst)[m.key] = names
		})
	}
}

func (c *checker) toolMetadata(n *node) {
	c.each(n, "tools", func(m member) {
		c.object(m.value, shape{what: "a tool in tools"}, fields{
			"name":        c.ignored(kindString, "name"),
			"description": c.ignored(kindString, "description"),
			"inputSchema": c.ignored(kindObject, "inputSchema"),
		})
	})
}

// controls are at the top level or under run; given in both places, the later one in the file
// counts.
func (c *checker) controls(r *Controls, fs fields) {
	fs["trials"] = c.integer(&r.Trials, "trials", 1, maxTrials)
	fs["maxCases"] = c.integer(&r.MaxCases, "maxCases", 1, maxInt)
	fs["concurrency"] = func(n *node) {
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
		return func(n *node) {
			c.each(n, what, func(m member) {
				var v *int
				c.integer(&v, what+"."+m.key, 1, maxInt)(m.value)
				if v != nil {
					dst[m.key] = *v
				}
			})
		}
	}
	return func(n *node) {
		c.object(n, shape{what: "limits"}, fields{
			"providers": group(l.Providers, "limits.providers"),
			"servers":   group(l.Servers, "limits.servers"),
		})
	}
}

func (c *checker) pricing(cfg *Config) field {
	return func(n *node) {
		cfg.Pricing = map[string]Price{}
		c.each(n, "pricing", func(m member) {
			var in, out *float64
			var p Price
			c.object(m.value, shape{what: "a price", required: []string{"input", "output"}}, fields{
				"input":      c.fraction(&in, "input", 0, maxInt),
				"output":     c.fraction(&out, "output", 0, maxInt),
				"cacheRead":  c.fraction(&p.CacheRead, "cacheRead", 0, maxInt),
				"cacheWrite": c.fraction(&p.CacheWrite, "cacheWrite", 0, maxInt),
			})
			if in != nil && out != nil {
				p.Input, p.Output = *in, *out
				cfg.Pricing[m.key] = p
			}
		})
	}
}

// variants reads the list; that names and labels fit is checked once everything is read.
func (c *checker) variants(cfg *Config) field {
	return c.list("variants", func(n *node) {
		v := Variant{node: n}
		fs := c.settings(&v.Settings, "a variant")
		fs["name"] = c.text(&v.Name, "name")
		fs["description"] = c.anyText(&v.Description, "description")
		fs["servers"] = func(n *node) {
			v.labels = n
			c.texts(&v.Labels, "servers")(n)
		}
		fs["metrics"] = c.metrics()
		fs["judges"] = c.judges(cfg)
		fs["coworkSetup"] = c.ignored(kindObject, "coworkSetup")
		c.object(n, shape{what: "a variant", required: []string{"name"}, renamed: configShape.renamed}, fs)
		cfg.Variants = append(cfg.Variants, v)
	})
}

// variantsAgree checks names, labels and the baseline against each other.
func (c *checker) variantsAgree(cfg *Config) {
	names := map[string]*node{}
	for _, v := range cfg.Variants {
		if first, ok := names[v.Name]; ok && v.Name != "" {
			c.invalid(v.node.start, "a second variant is called %q (the first at %s); rename one", v.Name, c.file.place(first.start))
		}
		names[v.Name] = v.node
		if v.labels != nil {
			c.labelsExist(cfg, v.labels)
		}
	}
	if len(cfg.Variants) == 0 {
		names[DefaultVariant] = nil
	}
	if _, ok := names[cfg.Baseline]; cfg.Baseline != "" && !ok {
		*c.problems = append(*c.problems, &Problem{Place: Place{File: c.file.name}, Kind: ErrInvalid,
			Msg: "baseline " + quoteNear(cfg.Baseline, slices.Sorted(maps.Keys(names))) + "; name one of the variants"})
	}
}

func (c *checker) labelsExist(cfg *Config, list *node) {
	var labels, seen []string
	for _, s := range cfg.Servers {
		labels = append(labels, s.Label)
	}
	for _, n := range list.items {
		switch {
		case n.kind != kindString || n.text == "":
		case !slices.Contains(labels, n.text):
			c.invalid(n.start, "server %s; add it to servers, or take it out here", quoteNear(n.text, labels))
		case slices.Contains(seen, n.text):
			c.invalid(n.start, "server %q is listed twice; keep one", n.text)
		}
		seen = append(seen, n.text)
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
