package evalconfig

import "strings"

// notOurs are the keys that ask for what MST does in JavaScript, or that only its own clients read:
// each is checked for its kind, and named where berth can't do as it says.
func (c *checker) notOurs(cfg *Config, fs fields) {
	fs["extends"] = c.emptyOnly("extends", "berth can't load shared configs from plugins; write their settings into this file (mst run --dry-run shows them)")
	fs["plugins"] = c.emptyOnly("plugins", "berth loads no JavaScript plugins; take out what needs them, or run this eval with mst")
	fs["simulateWrites"] = func(n *node) {
		if c.is(n, kindBool, "simulateWrites") && n.truth {
			c.unsupported(n.start, "simulateWrites isn't supported by berth; put the dry-run proxy into the server's command, or run this eval with mst")
		}
	}
	fs["metrics"] = c.metrics()
	fs["judges"] = c.judges(cfg)
	fs["pairwiseJudges"] = c.judges(cfg)
	fs["coworkSetup"] = c.ignored(kindObject, "coworkSetup")
	fs["maxToolCalls"] = c.ignored(kindNumber, "maxToolCalls")
	fs["temperature"] = c.ignored(kindNumber, "temperature")
	fs["maxTokens"] = c.ignored(kindNumber, "maxTokens")
}

func (c *checker) emptyOnly(what, fix string) field {
	return func(n *node) {
		if c.is(n, kindArray, what) && len(n.items) > 0 {
			c.unsupported(n.start, "%s: %s", what, fix)
		}
	}
}

// extension reads a reference: a name, or an object with a type and options.
func (c *checker) extension(n *node, what string) string {
	switch n.kind {
	case kindString:
		return n.text
	case kindObject:
		if t := n.get("type"); t != nil && t.kind == kindString && t.text != "" {
			return t.text
		}
		c.invalid(n.start, `%s needs a "type"`, what)
	default:
		c.invalid(n.start, "%s must be a name, or an object with a type", what)
	}
	return ""
}

// metrics names beyond MST's own need a plugin; berth computes a fixed set, so they change nothing.
func (c *checker) metrics() field {
	return c.list("metrics", func(n *node) {
		name := c.extension(n, "a metric")
		if strings.Contains(strings.TrimPrefix(name, "mst/metric/"), "/") {
			c.unsupported(n.start, "metric %q comes from a plugin, and berth loads none; take it out", name)
		}
	})
}

// judges are remembered, since a run that isn't graded here may have them.
func (c *checker) judges(cfg *Config) field {
	return c.list("judges", func(n *node) {
		c.extension(n, "a judge")
		cfg.judges = append(cfg.judges, c.file.place(n.start))
	})
}

func judgeProblem(at Place) *Problem {
	return &Problem{Place: at, Kind: ErrUnsupported,
		Msg: "berth runs no judges; collect with --no-grade and redactStoredResponses: false, then grade the run with `mst grade`"}
}

// results takes MST's built-in store; any other comes from a plugin.
func (c *checker) results(cfg *Config) field {
	store := func(n *node) {
		name := strings.TrimPrefix(c.extension(n, "results.store"), "mst/result-store/")
		if name != "file" {
			if name != "" {
				c.unsupported(n.start, `result store %q comes from a plugin, and berth loads none; use {"type": "file", "dir": "…"} and copy the folder yourself`, name)
			}
			return
		}
		if n.kind == kindObject {
			c.object(n, shape{what: "the file store"}, fields{
				"type": c.ignored(kindString, "type"),
				"dir":  c.text(&cfg.ResultsDir, "dir"),
			})
		}
	}
	return func(n *node) {
		c.object(n, shape{what: "results", required: []string{"store"}}, fields{"store": store})
	}
}

// datasets reads where cases come from.
func (c *checker) datasets(cfg *Config) field {
	return func(n *node) {
		if !c.is(n, kindArray, "datasets") {
			return
		}
		if len(n.items) == 0 {
			c.invalid(n.start, "datasets is empty; name at least one file")
		}
		for _, item := range n.items {
			if s, ok := c.source(item); ok {
				cfg.Datasets = append(cfg.Datasets, s)
			}
		}
	}
}

func (c *checker) source(n *node) (Source, bool) {
	s := Source{Type: "file", place: c.file.place(n.start)}
	if n.kind == kindString {
		c.text(&s.Path, "a dataset")(n)
		return s, s.Path != ""
	}
	if !c.is(n, kindObject, "a dataset") {
		return s, false
	}
	if n.get("ref") != nil {
		c.unsupported(n.start, "dataset snapshots (ref) aren't supported by berth; save the cases to a file and name that")
		return s, false
	}
	s.Type = strings.TrimPrefix(c.extension(n, "a dataset"), "mst/dataset/")
	switch s.Type {
	case "":
		return s, false
	case "file", "dir":
		ok := c.localSource(n, &s)
		return s, ok
	case "gcs":
		c.unsupported(n.start, "datasets in gcs aren't supported by berth; copy the file here first (gcloud storage cp) and name that")
	default:
		c.unsupported(n.start, "dataset %q comes from a plugin, and berth loads none; save its cases to a file and name that", s.Type)
	}
	return s, false
}

func (c *checker) localSource(n *node, s *Source) bool {
	var recursive *bool
	fs := fields{
		"type": c.ignored(kindString, "type"),
		"path": c.text(&s.Path, "path"),
	}
	if s.Type == "dir" {
		fs["recursive"] = c.boolean(&recursive, "recursive")
	}
	c.object(n, shape{what: "a " + s.Type + " dataset", required: []string{"path"}}, fs)
	s.Recursive = recursive != nil && *recursive
	return s.Path != ""
}
