package image

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// client is what an image needs for one kind of app under test. Adding an app is adding a row.
type client struct {
	// packages are Debian packages, beside what is essential.
	packages []string
	app      app
}

// app says which files of a locked npm package go where.
type app struct {
	// name is its key in the lock, and names its label: run.berth.<name>.version.
	name string
	// files maps a file below vendor/<target triple>/ to its place in the image.
	files map[string]string
	// links maps a path in the image to what it points to.
	links map[string]string
	// binary is the app itself, in the image.
	binary string
}

// clients is keyed by the short name that an image's name carries.
//
// Codex's packages: what its model's commands lean on. ca-certificates and curl for connectors that
// call out, git because Codex asks it about the workspace, procps to look after processes, python3
// because models write it unasked: without it an eval would measure the image. The rest comes from
// a recipe's Packages. rg is Codex's own.
var clients = map[string]client{
	"codex": {
		packages: []string{"ca-certificates", "curl", "git", "procps", "python3"},
		app: app{
			name: "codex",
			// The package's own layout, which Codex knows by codex-package.json, without its voice host.
			files: map[string]string{
				"codex-package.json":       "opt/codex/codex-package.json",
				"bin/codex":                "opt/codex/bin/codex",
				"bin/codex-code-mode-host": "opt/codex/bin/codex-code-mode-host",
				"codex-path/rg":            "opt/codex/codex-path/rg",
				"codex-resources/bwrap":    "opt/codex/codex-resources/bwrap",
			},
			links: map[string]string{
				"usr/local/bin/codex": "/opt/codex/bin/codex",
				"usr/local/bin/rg":    "/opt/codex/codex-path/rg",
			},
			binary: "opt/codex/bin/codex",
		},
	},
}

// Clients lists the clients that an image can be built for, sorted.
func Clients() []string { return slices.Sorted(maps.Keys(clients)) }

func clientNamed(name string) (client, error) {
	c, ok := clients[name]
	if !ok {
		return client{}, fmt.Errorf("%w: no image for client %q; there is one for %s", ErrRecipe, name, strings.Join(Clients(), ", "))
	}
	return c, nil
}
