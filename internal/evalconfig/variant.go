package evalconfig

import (
	"encoding/json"
	"strings"

	"github.com/berth-run/berth/internal/jsonpos"
)

// inputMark is where an input template takes the case's input.
const inputMark = "{{input}}"

// Variant is one setup that an eval compares. In a Config it's as declared; Resolve fills in what it
// inherits.
type Variant struct {
	Name, Description string
	Settings
	// Labels of the servers it uses; nil is all.
	Labels []string

	// Servers are the entries of Labels, in that order. Set by Resolve.
	Servers []Server
	// Options are the client's, inherited ones and the timeout included. Set by Resolve.
	Options json.RawMessage

	node, labels *jsonpos.Node
	options      []*Options // inherited first
}

// Prompt is what the client is sent for an input.
func (v *Variant) Prompt(input string) string {
	if v.InputTemplate == "" {
		return input
	}
	return strings.ReplaceAll(v.InputTemplate, inputMark, input)
}

// at is a place for problems of the variant as a whole.
func (v *Variant) at() int {
	if v.node == nil {
		return 0
	}
	return v.node.Start
}

// offset is n's place, or the variant's when n isn't in the file.
func (v *Variant) offset(n *jsonpos.Node) int {
	if n == nil {
		return v.at()
	}
	return n.Start
}

// resolved are the variants with what they inherit.
func (cfg *Config) resolved() []Variant {
	declared := cfg.Variants
	if len(declared) == 0 {
		declared = []Variant{{Name: DefaultVariant}}
	}
	out := make([]Variant, len(declared))
	for i, v := range declared {
		out[i] = cfg.inherit(v)
	}
	return out
}

// inherit fills in from the config what v doesn't set. Client options come along, under v's own,
// only when the client is the config's.
func (cfg *Config) inherit(v Variant) Variant {
	sameClient := v.Client == "" || v.Client == cfg.Base.Client
	if v.Client == "" {
		v.Client, v.Settings.client = cfg.Base.Client, cfg.Base.client
	}
	if v.Client == "" {
		v.Client = ClientClaudeCode
	}
	if v.Model == "" {
		v.Model, v.model = cfg.Base.Model, cfg.Base.model
	}
	if v.ToolMap == nil {
		v.ToolMap = cfg.Base.ToolMap
	}
	if v.tools == nil {
		v.Tools, v.tools = cfg.Base.Tools, cfg.Base.tools
	}
	if v.InputTemplate == "" {
		v.InputTemplate = cfg.Base.InputTemplate
	}
	if cfg.Base.ClientOptions != nil && sameClient {
		v.options = append(v.options, cfg.Base.ClientOptions)
	}
	if v.ClientOptions != nil {
		v.options = append(v.options, v.ClientOptions)
	}
	v.Servers = cfg.pick(v.Labels)
	return v
}

// pick gives the servers with these labels; nil gives all.
func (cfg *Config) pick(labels []string) []Server {
	if labels == nil {
		return cfg.Servers
	}
	picked := make([]Server, 0, len(labels))
	for _, l := range labels {
		for _, s := range cfg.Servers {
			if s.Label == l {
				picked = append(picked, s)
			}
		}
	}
	return picked
}
