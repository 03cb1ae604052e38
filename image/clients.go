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
	// program is the app's, in the image, where it comes as a Debian package (Recipe.App); "" for none.
	program string
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

// codexPackages are what its model's commands lean on: ca-certificates and curl for connectors that
// call out, git because Codex asks it about the workspace, procps to look after processes, python3
// because models write it unasked: without it an eval would measure the image. The rest comes from
// a recipe's Packages. rg is Codex's own.
var codexPackages = []string{"ca-certificates", "curl", "git", "procps", "python3"}

// desktopPackages are the programs of package session, and fonts: without them an app's text is empty
// boxes in every screenshot, and a Chromium without any font doesn't start. DejaVu has Latin, Greek and
// Cyrillic; Droid's fallback has Chinese, Japanese and Korean in 4 MB where Noto's take 90. dbus-x11
// stands for the session bus that gnome-keyring depends on: apt would choose one that brings systemd.
var desktopPackages = []string{
	"at-spi2-core", "dbus-daemon", "dbus-x11", "gnome-keyring", "openbox", "xkb-data", "xvfb",
	"fonts-dejavu-core", "fonts-droid-fallback", "fonts-noto-color-emoji",
}

// codex is in the images of both clients: the ChatGPT app brings its own, and berth checks the config
// that it writes for either with this one.
var codex = app{
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
}

// clients is keyed by the short name that an image's name carries. The one for chatgpt has all that the
// one for codex has, so that a run of both has an image.
var clients = map[string]client{
	"codex": {packages: codexPackages, app: codex},
	"chatgpt": {
		packages: slices.Concat(codexPackages, desktopPackages),
		app:      codex,
		program:  "usr/bin/chatgpt",
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
