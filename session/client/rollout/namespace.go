package rollout

import "strings"

// Prefix begins the namespace of every MCP server's tools.
const Prefix = "mcp__"

// Namespace is the name under which Codex offers a server's tools to the model.
func Namespace(label string) string {
	return Prefix + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, label)
}

// labels tells servers by their namespaces.
type labels map[string]string

func newLabels(list []string) labels {
	l := make(labels, len(list))
	for _, label := range list {
		l[Namespace(label)] = label
	}
	return l
}

// of is the namespace's label; an unknown server's is what the namespace holds.
func (l labels) of(namespace string) string {
	if label, ok := l[namespace]; ok {
		return label
	}
	return strings.TrimPrefix(namespace, Prefix)
}

// split cuts a flat name, mcp__server__tool. As either part may hold underscores, the longest known
// server wins.
func (l labels) split(raw string) (server, tool string, ok bool) {
	longest := ""
	for namespace := range l {
		if len(namespace) > len(longest) && strings.HasPrefix(raw, namespace+"__") {
			longest = namespace
		}
	}
	if longest != "" {
		tool = raw[len(longest)+2:]
		return l[longest], tool, tool != ""
	}
	rest, found := strings.CutPrefix(raw, Prefix)
	if !found {
		return "", "", false
	}
	server, tool, found = strings.Cut(rest, "__")
	return server, tool, found && server != "" && tool != ""
}
