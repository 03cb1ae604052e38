package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"

	"github.com/berth-run/berth/oci"
)

// Recipe is what an image is made of. The zero value of every field but Client and Worker is a
// sensible default.
type Recipe struct {
	// Client is a name of Clients.
	Client string
	// Version is Codex's; default the lock's.
	Version string
	// App is the Debian package of the app, a file, for a client whose app isn't in the lock. What it
	// depends on is installed with Debian's root file system; a Base must have it already.
	App string
	// AppVersion is the version that App must have, "" for any.
	AppVersion string
	// Arch is the engine's, as in GOARCH; default this machine's.
	Arch string
	// Suite is Debian's; default trixie.
	Suite string
	// Packages are Debian packages on top of the client's.
	Packages []string
	// Overlay is a directory to copy over the root file system, "" for none.
	Overlay string
	// Worker is the berth-worker binary for Arch, a file.
	Worker string
	// Base takes the place of Debian's root file system when it is set; see OpenBase.
	Base *Base
	// Epoch is the time stamp of every file, in seconds; default the lock's.
	Epoch int64
}

// DefaultSuite is the Debian release that images are made of.
const DefaultSuite = "trixie"

// formatVersion counts changes of this package that change an image's content. It's part of every
// key, so what an older berth cached isn't taken for what this one would build.
const formatVersion = 1

var (
	validPackage = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
	validSuite   = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
)

// plan is a recipe with its defaults filled in and its inputs hashed.
type plan struct {
	Recipe
	client client
	pkg    packageLock
	// deb is App, nil for a client that has none.
	deb     *deb
	worker  []byte
	seccomp []byte
	// Hex sha256 of the inputs that are files.
	workerHash, overlayHash string
}

func newPlan(r Recipe) (*plan, error) {
	c, err := clientNamed(r.Client)
	if err != nil {
		return nil, err
	}
	p := &plan{Recipe: withDefaults(r, c), client: c, seccomp: oci.SeccompProfile()}
	if err := p.validate(); err != nil {
		return nil, err
	}
	if err := p.openApp(); err != nil {
		return nil, err
	}
	if p.Version, p.pkg, err = locked().app(c.app.name, r.Version, p.Arch); err != nil {
		return nil, err
	}
	if p.worker, err = os.ReadFile(r.Worker); err != nil {
		return nil, fmt.Errorf("%w: berth-worker for %s: %w", ErrRecipe, p.Arch, err)
	}
	p.workerHash = hashOf(p.worker)
	if p.Overlay != "" {
		p.overlayHash, err = hashOverlay(p.Overlay)
	}
	return p, err
}

// openApp reads the app's package, which a client either needs or has no use for.
func (p *plan) openApp() (err error) {
	switch {
	case p.App == "" && p.client.program == "":
		return nil
	case p.App == "":
		return fmt.Errorf("%w: client %s needs its app's Debian package: give it with --runner-option app=FILE.deb", ErrRecipe, p.Client)
	case p.client.program == "":
		return fmt.Errorf("%w: client %s takes no Debian package: leave app= out", ErrRecipe, p.Client)
	}
	p.deb, err = openDeb(p.App, p.Arch)
	if err == nil && p.AppVersion != "" && p.deb.version != p.AppVersion {
		return fmt.Errorf("%w: %s has version %s, and chatgptVersion=%s was asked for: give the package of that version, or leave chatgptVersion out", ErrPackage, p.App, p.deb.version, p.AppVersion)
	}
	return err
}

func withDefaults(r Recipe, c client) Recipe {
	if r.Arch == "" {
		r.Arch = runtime.GOARCH
	}
	if r.Suite == "" {
		r.Suite = DefaultSuite
	}
	if r.Epoch == 0 {
		r.Epoch = locked().Epoch
	}
	r.Packages = slices.Concat(c.packages, r.Packages)
	slices.Sort(r.Packages)
	r.Packages = slices.Compact(r.Packages)
	return r
}

func (p *plan) validate() error {
	if !validSuite.MatchString(p.Suite) {
		return fmt.Errorf("%w: %q is no Debian suite", ErrRecipe, p.Suite)
	}
	for _, name := range p.Packages {
		if !validPackage.MatchString(name) {
			return fmt.Errorf("%w: %q is no Debian package name", ErrRecipe, name)
		}
	}
	if p.Worker == "" {
		return fmt.Errorf("%w: no berth-worker binary", ErrRecipe)
	}
	return nil
}

// ref is localhost/berth-<client>-linux:<Codex's version>-<hash of what goes in>.
func (p *plan) ref() string {
	in := []any{p.rootKey(), p.appKey(), p.overlayHash, p.workerHash, hashOf(p.seccomp)}
	if p.deb != nil {
		in = append(in, p.deb.hash)
	}
	return fmt.Sprintf("localhost/berth-%s-linux:%s-%s", p.Client, p.Version, keyOf(in...)[:12])
}

// rootKey is what the root file system depends on, but for the day's packages.
func (p *plan) rootKey() string {
	if p.Base != nil {
		return keyOf("base", p.Base.Digest)
	}
	in := []any{"debian", p.Suite, p.Arch, p.Packages, p.Epoch}
	if d := p.depends(); d != "" {
		in = append(in, d)
	}
	return keyOf(in...)
}

// depends are the packages that the app's one asks for.
func (p *plan) depends() string {
	if p.deb == nil {
		return ""
	}
	return p.deb.depends
}

func (p *plan) appKey() string {
	return keyOf("app", p.client.app.name, p.pkg.Integrity, p.Epoch)
}

// keyOf hashes a list of values, unambiguously.
func keyOf(parts ...any) string {
	b, err := json.Marshal(append([]any{formatVersion}, parts...))
	if err != nil {
		panic("image: key: " + err.Error()) // strings, numbers and lists of them
	}
	return hashOf(b)
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
