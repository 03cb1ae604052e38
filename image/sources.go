package image

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The pockets of a Debian release, by the suffix of their suite.
const (
	pocketMain     = ""
	pocketUpdates  = "-updates"
	pocketSecurity = "-security"
)

// debianKeyring signs every current suite; package debian-archive-keyring has it.
const debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// debianSuites are the names of Debian's releases; a derivative's suites have others.
var debianSuites = []string{
	"buster", "bullseye", "bookworm", "trixie", "forky", "duke", "sid",
	"oldoldstable", "oldstable", "stable", "testing", "unstable",
}

// aptSource is one archive of the machine's apt.
type aptSource struct {
	uri, suite string
	components []string
	// signedBy is a keyring's path, an inline key, or "".
	signedBy string
}

// aptSources reads dir (/etc/apt) as apt does: sources.list, then sources.list.d in both formats.
// Files that apt wouldn't read, and lines that it would reject, are passed over.
func aptSources(dir string) []aptSource {
	files, _ := filepath.Glob(filepath.Join(dir, "sources.list.d", "*")) // fails for bad patterns only
	var all []aptSource
	for _, f := range append([]string{filepath.Join(dir, "sources.list")}, files...) {
		text, err := os.ReadFile(f)
		switch {
		case err != nil: // not there, or not for this user to read
			continue
		case strings.HasSuffix(f, ".sources"):
			all = append(all, parseDeb822(string(text))...)
		case strings.HasSuffix(f, ".list"):
			all = append(all, parseOneLine(string(text))...)
		}
	}
	return all
}

// parseOneLine reads the format of sources.list(5): deb [option=value ...] uri suite component...
func parseOneLine(text string) []aptSource {
	var all []aptSource
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
		if !ok {
			continue
		}
		var options string
		if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "[") {
			options, rest, _ = strings.Cut(rest[1:], "]")
		}
		f := strings.Fields(rest)
		if len(f) < 3 {
			continue
		}
		s := aptSource{uri: f[0], suite: f[1], components: f[2:]}
		for _, o := range strings.Fields(options) {
			if v, ok := strings.CutPrefix(o, "signed-by="); ok {
				s.signedBy = v
			}
		}
		all = append(all, s)
	}
	return all
}

// parseDeb822 reads the stanzas of a .sources file.
func parseDeb822(text string) []aptSource {
	var all []aptSource
	for _, st := range deb822Stanzas(text) {
		if strings.EqualFold(st["enabled"], "no") || !slices.Contains(strings.Fields(st["types"]), "deb") {
			continue
		}
		for _, uri := range strings.Fields(st["uris"]) {
			for _, suite := range strings.Fields(st["suites"]) {
				all = append(all, aptSource{
					uri: uri, suite: suite, signedBy: strings.TrimSpace(st["signed-by"]),
					components: strings.Fields(st["components"]),
				})
			}
		}
	}
	return all
}

// deb822Stanzas splits text into its stanzas, keys in lower case; continuation lines join the value.
func deb822Stanzas(text string) []map[string]string {
	var all []map[string]string
	var cur map[string]string
	var key string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			cur, key = nil, ""
		case line[0] == ' ' || line[0] == '\t':
			if key != "" {
				cur[key] += "\n" + strings.TrimSpace(line)
			}
		default:
			k, v, ok := strings.Cut(line, ":")
			if !ok {
				continue
			}
			if cur == nil {
				cur = map[string]string{}
				all = append(all, cur)
			}
			key = strings.ToLower(strings.TrimSpace(k))
			cur[key] = strings.TrimSpace(v)
		}
	}
	return all
}

// debianMirrors picks the machine's Debian archive for each pocket. A third party that names its
// suite like Debian's is told apart by its keyring, else by its address.
func debianMirrors(sources []aptSource) map[string]string {
	found := map[string]string{}
	for _, certain := range []bool{true, false} {
		for _, s := range sources {
			pocket, ok := debianPocket(s)
			if _, have := found[pocket]; ok && !have && (s.certainlyDebian() || !certain) {
				found[pocket] = s.uri
			}
		}
	}
	return found
}

func debianPocket(s aptSource) (string, bool) {
	name, pocket := s.suite, pocketMain
	// Before bullseye the security suite was <release>/updates.
	name = strings.Replace(name, "/updates", pocketSecurity, 1)
	for _, p := range []string{pocketUpdates, pocketSecurity} {
		if n, ok := strings.CutSuffix(name, p); ok {
			name, pocket = n, p
		}
	}
	known := slices.Contains(debianSuites, name) && slices.Contains(s.components, "main")
	foreign := s.signedBy != "" && !s.certainlyDebian()
	return pocket, known && !foreign && !strings.HasPrefix(s.uri, "cdrom:")
}

func (s aptSource) certainlyDebian() bool {
	return strings.HasPrefix(path.Base(s.signedBy), "debian-archive-") ||
		s.signedBy == "" && strings.Contains(s.uri, "debian.org/")
}

// sourcesList is the sources.list to build suite from, in one-line format. mirror "" means the
// machine's own sources below dir.
func sourcesList(dir, mirror, suite string) (string, error) {
	mirrors := map[string]string{pocketMain: mirror}
	if mirror == "" {
		mirrors = debianMirrors(aptSources(dir))
	}
	if mirrors[pocketMain] == "" {
		return "", fmt.Errorf("%w a Debian mirror, and apt on this machine has none: name one with mirror=URL", ErrPrerequisite)
	}
	var list strings.Builder
	for _, pocket := range pockets(suite) {
		if uri := mirrors[pocket]; uri != "" {
			fmt.Fprintf(&list, "deb %s %s%s main\n", uri, suite, pocket)
		}
	}
	return list.String(), nil
}

// pockets of a suite: unstable has but one.
func pockets(suite string) []string {
	if suite == "sid" || suite == "unstable" {
		return []string{pocketMain}
	}
	return []string{pocketMain, pocketUpdates, pocketSecurity}
}
