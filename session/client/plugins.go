package client

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// maxPlugins bounds a variant's plugins.
const maxPlugins = 16

// Plugin is one that is to be installed, as MST's configs have it.
type Plugin struct {
	Name        string      `json:"name"`
	Marketplace Marketplace `json:"marketplace"`
}

// Marketplace is where a plugin comes from.
type Marketplace struct {
	// Source is an absolute path in the shard, owner/repo or an HTTPS Git URL.
	Source string `json:"source"`
	// Ref is a full commit, which a Git source must have.
	Ref string `json:"ref,omitempty"`
}

// Local tells whether nothing has to be fetched.
func (m Marketplace) Local() bool { return filepath.IsAbs(m.Source) }

// InstalledPlugin is what is recorded of a plugin: no path, no URL.
type InstalledPlugin struct {
	Name        string `json:"name"`
	Marketplace string `json:"marketplace"`
	Version     string `json:"version"`
	Ref         string `json:"ref,omitempty"`
}

var (
	// PluginName is what the name of a plugin or of a marketplace is.
	PluginName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	commit     = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// CheckPlugins makes sure of what a config says of them.
func CheckPlugins(all []Plugin) error {
	if len(all) > maxPlugins {
		return fmt.Errorf("clientOptions.plugins: %d are over the limit of %d", len(all), maxPlugins)
	}
	seen := map[string]bool{}
	for _, p := range all {
		m := p.Marketplace
		switch {
		case !PluginName.MatchString(p.Name):
			return fmt.Errorf("clientOptions.plugins: the name %q must match %s", p.Name, PluginName)
		case seen[p.Name]:
			return fmt.Errorf("clientOptions.plugins: %q is there twice", p.Name)
		case m.Source == "" || len(m.Source) > 512 || strings.HasPrefix(m.Source, "-"):
			return fmt.Errorf("clientOptions.plugins: %s needs a marketplace.source: an absolute path in the shard, owner/repo or a Git URL", p.Name)
		case m.Ref != "" && !commit.MatchString(m.Ref):
			return fmt.Errorf("clientOptions.plugins: the marketplace.ref of %s must be a full commit of 40 hex digits", p.Name)
		case m.Ref == "" && !m.Local():
			return fmt.Errorf("clientOptions.plugins: the Git marketplace of %s needs a marketplace.ref, a full commit, so that every run has the same", p.Name)
		}
		seen[p.Name] = true
	}
	return nil
}
