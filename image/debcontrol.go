package image

import (
	"fmt"
	"regexp"
	"strings"
)

// control is what a Debian package says of itself.
type control struct {
	name, version string
	// depends are its Pre-Depends and Depends, as apt-get satisfy takes them.
	depends string
}

var (
	validVersion = regexp.MustCompile(`^[A-Za-z0-9.+:~-]{1,128}$`)
	// validDepend is one package of deb-control(5)'s Depends. It has no character that a shell would
	// take for its own between single quotes.
	validDepend = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+(:[a-z0-9-]+)?( ?\((<<|<=|=|>=|>>) ?[A-Za-z0-9.+:~-]+\))?$`)
)

// maxDepends bounds Depends: it becomes an argument.
const maxDepends = 64 << 10

// parseControl reads a control file, and refuses a package for another machine than arch (GOARCH).
func parseControl(text, arch string) (control, error) {
	stanzas := deb822Stanzas(text)
	if len(stanzas) != 1 {
		return control{}, fmt.Errorf("%w: its control file has %d paragraphs", ErrPackage, len(stanzas))
	}
	st := stanzas[0]
	c := control{name: st["package"], version: st["version"]}
	if !validPackage.MatchString(c.name) || !validVersion.MatchString(c.version) {
		return control{}, fmt.Errorf("%w: its control file names the package %q, version %q", ErrPackage, c.name, c.version)
	}
	if is, want := st["architecture"], debianArch(arch); is != want && is != "all" {
		return control{}, fmt.Errorf("%w: %s is for %s, and the image for %s", ErrPackage, c.name, is, want)
	}
	var err error
	c.depends, err = parseDepends(st["pre-depends"], st["depends"])
	return c, err
}

// parseDepends joins fields of dependencies, each of them checked.
func parseDepends(fields ...string) (string, error) {
	var all []string
	for _, f := range fields {
		for _, d := range strings.Split(f, ",") {
			if d = strings.Join(strings.Fields(d), " "); d == "" {
				continue
			}
			var either []string
			for _, one := range strings.Split(d, "|") {
				if one = strings.TrimSpace(one); !validDepend.MatchString(one) {
					return "", fmt.Errorf("%w: it depends on %q, which names no package", ErrPackage, one)
				}
				either = append(either, one)
			}
			all = append(all, strings.Join(either, " | "))
		}
	}
	joined := strings.Join(all, ", ")
	if len(joined) > maxDepends {
		return "", fmt.Errorf("%w: its dependencies are %d bytes long", ErrPackage, len(joined))
	}
	return joined, nil
}
