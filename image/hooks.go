package image

import (
	"fmt"
	"strings"
)

// hooks are shell scripts that mmdebstrap runs when its packages are installed, $1 being the root.
func (b *build) hooks() []string {
	var hooks []string
	if d := b.plan.depends(); d != "" {
		hooks = append(hooks, satisfy(d))
	}
	return append(hooks, cacheFonts(b.plan.Epoch))
}

// satisfy installs what a package depends on, as mmdebstrap installs the rest: by the apt of this
// machine, which knows the way to the mirror, with dpkg in the root. depends was checked: it has no
// quote. The config of mmdebstrap's apt had another name in old releases; without it, nothing is done to
// this machine instead.
func satisfy(depends string) string {
	return `APT_CONFIG="${MMDEBSTRAP_APT_CONFIG:-${APT_CONFIG:?}}" apt-get -o DPkg::Chroot-Directory="$1" --yes --no-install-recommends satisfy '` + depends + `'`
}

// unmetDepends is how apt begins the line on a dependency that satisfy can't install.
const unmetDepends = "satisfy:command-line : Depends: "

// cacheFonts makes fontconfig's cache as the image's own: without it every start of an app, in its new
// home, reads all fonts again, which takes it 200 ms. The cache goes by the time stamps of the folders,
// so they get here what the layer would give them.
func cacheFonts(epoch int64) string {
	return fmt.Sprintf(`[ ! -x "$1/usr/bin/fc-cache" ] || chroot "$1" sh -c 'find -L /usr/share/fonts /usr/local/share/fonts -type d -exec touch -d @%d {} +; fc-cache --system-only'`, epoch)
}

// hookName says what a hook does, where mmdebstrap shows its script.
func hookName(said string) string {
	switch {
	case !strings.HasPrefix(said, "running --customize-hook"):
		return said
	case strings.Contains(said, " satisfy '"):
		return "installing what the app depends on"
	}
	return "caching fonts"
}
