package evalconfig

import (
	"strings"

	"github.com/berth-run/berth/internal/jsonpos"
)

// notOurs are the keys that ask for what MST does in JavaScript, or that only its own clients read:
// each is checked for its kind, and named where berth can't do as it says.
func (c *checker) notOurs(cfg *Config, fs fields) {
	fs["extends"] = c.emptyOnly("extends", "berth can't load shared configs from plugins; write their settings into this file (mst run --dry-run shows them)")
	fs["plugins"] = c.emptyOnly("plugins", "berth loads no JavaScript plugins; take out what needs them, or run this eval with mst")
	fs["simulateWrites"] = func(n *jsonpos.Node) {
		if c.is(n, jsonpos.Bool, "simulateWrites") && n.Truth {
			c.unsupported(n.Start, "simulateWrites isn't supported by berth; put the dry-run proxy into the server's command, or run this eval with mst")
		}
	}
	fs["metrics"] = c.metrics()
	fs["judges"] = c.judges(cfg)
	fs["pairwiseJudges"] = c.judges(cfg)
	fs["coworkSetup"] = c.ignored(jsonpos.Object, "coworkSetup")
	fs["maxToolCalls"] = c.ignored(jsonpos.Number, "maxToolCalls")
	fs["temperature"] = c.ignored(jsonpos.Number, "temperature")
	fs["maxTokens"] = c.ignored(jsonpos.Number, "maxTokens")
}

func (c *checker) emptyOnly(what, fix string) field {
	return func(n *jsonpos.Node) {
		if c.is(n, jsonpos.Array, what) && len(n.Items) > 0 {
			c.unsupported(n.Start, "%s: %s", what, fix)
		}
	}
}

// extension reads a reference: a name, or an object with a type and options.
func (c *checker) extension(n *jsonpos.Node, what string) string {
	switch n.Kind {
	case jsonpos.String:
		return n.Text
	case jsonpos.Object:
		if t := n.Get("type"); t != nil && t.Kind == jsonpos.String && t.Text != "" {
			return t.Text
		}
		c.invalid(n.Start, `%s needs a "type"`, what)
	default:
		c.invalid(n.Start, "%s must be a name, or an object with a type", what)
	}
	return ""
}

// metrics names beyond MST's own need a plugin; berth computes a fixed set, so they change nothing.
func (c *checker) metrics() field {
	return c.list("metrics", func(n *jsonpos.Node) {
		name := c.extension(n, "a metric")
		if strings.Contains(strings.TrimPrefix(name, "mst/metric/"), "/") {
			c.unsupported(n.Start, "metric %q comes from a plugin, and berth loads none; take it out", name)
		}
	})
}

// judges are remembered, since a run that isn't graded here may have them.
func (c *checker) judges(cfg *Config) field {
	return c.list("judges", func(n *jsonpos.Node) {
		c.extension(n, "a judge")
		cfg.judges = append(cfg.judges, c.file.Place(n.Start))
	})
}

func judgeProblem(at Place) *Problem {
	return &Problem{Place: at, Kind: ErrUnsupported,
		Msg: "berth runs no judges; collect with --no-grade and redactStoredResponses: false, then grade the run with `mst grade`"}
}

// results takes MST's built-in store; any other comes from a plugin.
func (c *checker) results(cfg *Config) field {
	store := func(n *jsonpos.Node) {
		name := strings.TrimPrefix(c.extension(n, "results.store"), "mst/result-store/")
		if name != "file" {
			if name != "" {
				c.unsupported(n.Start, `result store %q comes from a plugin, and berth loads none; use {"type": "file", "dir": "…"} and copy the folder yourself`, name)
			}
			return
		}
		if n.Kind == jsonpos.Object {
			c.object(n, shape{what: "the file store"}, fields{
				"type": c.ignored(jsonpos.String, "type"),
				"dir":  c.text(&cfg.ResultsDir, "dir"),
			})
		}
	}
	return func(n *jsonpos.Node) {
		c.object(n, shape{what: "results", required: []string{"store"}}, fields{"store": store})
	}
}

// datasets reads where cases come from.
func (c *checker) datasets(cfg *Config) field {
	return func(n *jsonpos.Node) {
		if !c.is(n, jsonpos.Array, "datasets") {
			return
		}
		if len(n.Items) == 0 {
			c.invalid(n.Start, "datasets is empty; name at least one file")
		}
		for _, item := range n.Items {
			if s, ok := c.source(item); ok {
				cfg.Datasets = append(cfg.Datasets, s)
			}
		}
	}
}

func (c *checker) source(n *jsonpos.Node) (Source, bool) {
	s := Source{Type: "file", place: c.file.Place(n.Start)}
	if n.Kind == jsonpos.String {
		c.text(&s.Path, "a dataset")(n)
		return s, s.Path != ""
	}
	if !c.is(n, jsonpos.Object, "a dataset") {
		return s, false
	}
	if n.Get("ref") != nil {
		c.unsupported(n.Start, "dataset snapshots (ref) aren't supported by berth; save the cases to a file and name that")
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
		c.unsupported(n.Start, "datasets in gcs aren't supported by berth; copy the file here first (gcloud storage cp) and name that")
	default:
		c.unsupported(n.Start, "dataset %q comes from a plugin, and berth loads none; save its cases to a file and name that", s.Type)
	}
	return s, false
}

func (c *checker) localSource(n *jsonpos.Node, s *Source) bool {
	var recursive *bool
	fs := fields{
		"type": c.ignored(jsonpos.String, "type"),
		"path": c.text(&s.Path, "path"),
	}
	if s.Type == "dir" {
		fs["recursive"] = c.boolean(&recursive, "recursive")
	}
	c.object(n, shape{what: "a " + s.Type + " dataset", required: []string{"path"}}, fs)
	s.Recursive = recursive != nil && *recursive
	return s.Path != ""
}
