package runner

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-run/berth/oci"
)

// Keep policies.
const (
	KeepNever  = "never"
	KeepFailed = "failed"
	KeepAlways = "always"
)

// Limit policies.
const (
	LimitsEnforce    = "enforce"
	LimitsBestEffort = "best-effort"
)

// Network choices; auto is settled per run by what the variants need.
const (
	NetworkAuto   = "auto"
	NetworkNone   = "none"
	NetworkEngine = "engine"
)

// Credential modes of docs/threat-model.md.
const (
	CredentialFile   = "file"
	CredentialBroker = "broker"
)

// What an app's profile begins with.
const (
	ProfileFresh = "fresh"
	ProfileWarm  = "warm"
)

// Options is every --runner-option, checked. They are recorded, so none may hold a secret.
type Options struct {
	Shards     int // or ShardsAuto
	Keep       string
	Image      string
	Memory     int64 // bytes; 0 is the default of package oci
	Pids       int64
	CPUWeight  int64 // cgroup v2; 0 asks for nothing
	Limits     string
	Network    string
	Credential string
	Deadman    time.Duration
	// Silence is how long a worker may say nothing before its shard is given up; 0 is the contract's 60 s.
	Silence time.Duration
	// AppVersion is the app's that is meant, "" for any.
	AppVersion string
	// Profile is what an app's profile begins with; ProfileDir has the state of a warm one.
	Profile    string
	ProfileDir string
	// For the image build.
	App      string
	Codex    string
	Suite    string
	Mirror   string
	Packages []string
	Overlay  string

	given map[string]string
}

// option is one row of the table: how a value is taken, and what `--help` says.
type option struct {
	name, values, help string
	set                func(o *Options, v string) error
}

// runTable is what a run follows, setUpTable what set-up bakes into an image. A command takes both, so that
// one list of options serves a whole config.
var runTable = []option{
	{"shards", "N|auto", "how many shards run side by side (default 1); auto: as many as free memory, CPUs and cases allow", setShards},
	{"keep", "never|failed|always", "which shards outlive the run (default never)", choice(func(o *Options) *string { return &o.Keep }, KeepNever, KeepFailed, KeepAlways)},
	{"image", "REF", "an image that set-up gave this --name", setImage},
	{"memory", "SIZE", "a shard's memory limit, without swap (default 2g)", size(oci.MinMemoryBytes, func(o *Options) *int64 { return &o.Memory })},
	{"pids", "N", "a shard's limit of processes and threads (default 1024)", count(oci.MinPids, func(o *Options) *int64 { return &o.Pids })},
	{"cpuWeight", "N", "a shard's share of busy cpus, 1 to 10000 (cgroup v2 cpu.weight; 100 is everybody's)", weight},
	{"limits", "enforce|best-effort", "whether a limit that the engine doesn't apply ends the run (default enforce)", choice(func(o *Options) *string { return &o.Limits }, LimitsEnforce, LimitsBestEffort)},
	{"network", "auto|none|engine", "a shard's network; auto is none unless something in it must call out (default auto)", choice(func(o *Options) *string { return &o.Network }, NetworkAuto, NetworkNone, NetworkEngine)},
	{"credential", "file|broker", "where the inference credential is: a token file in the shard, or never in it (default file)", choice(func(o *Options) *string { return &o.Credential }, CredentialFile, CredentialBroker)},
	{"deadman", "DURATION", "a shard that hears nothing from berth for this long ends itself (default 10m)", duration(func(o *Options) *time.Duration { return &o.Deadman })},
	{"silence", "DURATION", "a shard of which berth hears nothing for this long is given up (default 60s)", duration(func(o *Options) *time.Duration { return &o.Silence })},
	{"profile", "fresh|warm", "what the ChatGPT app's profile begins with: nothing, or the state in profileDir (default fresh)", choice(func(o *Options) *string { return &o.Profile }, ProfileFresh, ProfileWarm)},
	{"profileDir", "DIR", "with profile=warm: a folder of app state, such as `berth canary --save-profile` writes", text(func(o *Options) *string { return &o.ProfileDir })},
	{"chatgptVersion", "VERSION", "the app's version that is meant: another in the image, or in the package, is an error", setAppVersion},
}

var setUpTable = []option{
	{"image", "REF", "your own image to build upon: one that the engine has, oci:DIR, oci-archive:FILE or docker-archive:FILE", setImage},
	{"chatgptVersion", "VERSION", "the version that the app's package must have", setAppVersion},
	{"app", "FILE.deb", "the Debian package of the app that client chatgpt drives", text(func(o *Options) *string { return &o.App })},
	{"codexVersion", "VERSION", "the Codex release in the image", text(func(o *Options) *string { return &o.Codex })},
	{"suite", "NAME", "the Debian release of the root file system (default trixie)", text(func(o *Options) *string { return &o.Suite })},
	{"mirror", "URL", "a Debian mirror instead of the machine's own", text(func(o *Options) *string { return &o.Mirror })},
	{"packages", "A,B", "more Debian packages", list(func(o *Options) *[]string { return &o.Packages })},
	{"overlay", "DIR", "a folder copied over the root file system (MCP servers, say)", text(func(o *Options) *string { return &o.Overlay })},
}

// ParseOptions takes k=v pairs. An unknown key names the known ones; a repeated one is an error.
func ParseOptions(pairs []string) (Options, error) {
	o := Options{
		Shards: 1, Keep: KeepNever, Limits: LimitsEnforce, Network: NetworkAuto,
		Credential: CredentialFile, Deadman: 10 * time.Minute, Silence: silenceLimit, Profile: ProfileFresh, given: map[string]string{},
	}
	for _, p := range pairs {
		k, v, ok := strings.Cut(p, "=")
		if !ok || v == "" {
			return o, fmt.Errorf("%w: %q is not of the form key=value", ErrOption, p)
		}
		t, known := find(k)
		if !known {
			return o, fmt.Errorf("%w: unknown key %q; known are %s", ErrOption, k, optionNames())
		}
		if _, twice := o.given[k]; twice {
			return o, fmt.Errorf("%w: %s is given twice", ErrOption, k)
		}
		if err := t.set(&o, v); err != nil {
			return o, fmt.Errorf("%w: %s=%s: %w", ErrOption, k, v, err)
		}
		o.given[k] = v
	}
	return o, nil
}

// ForRun refuses options that only set-up can follow: silently doing nothing would mislead.
func (o Options) ForRun() error {
	for _, t := range setUpTable {
		if _, given := o.given[t.name]; given && !isIn(runTable, t.name) {
			return fmt.Errorf("%w: %s is for `berth runner setup`, which bakes it into the image", ErrOption, t.name)
		}
	}
	return o.checkProfile()
}

// checkProfile wants both of profile=warm and profileDir, or neither.
func (o Options) checkProfile() error {
	switch warm := o.Profile == ProfileWarm; {
	case warm && o.ProfileDir == "":
		return fmt.Errorf("%w: profile=warm needs the app's state: profileDir=DIR", ErrOption)
	case !warm && o.ProfileDir != "":
		return fmt.Errorf("%w: profileDir is used with profile=warm only", ErrOption)
	case !warm:
		return nil
	}
	if info, err := os.Stat(o.ProfileDir); err != nil || !info.IsDir() {
		return fmt.Errorf("%w: profileDir=%s is no folder", ErrOption, o.ProfileDir)
	}
	return nil
}

func setAppVersion(o *Options, v string) error { o.AppVersion = v; return nil }

func isIn(table []option, name string) bool {
	return slices.ContainsFunc(table, func(t option) bool { return t.name == name })
}

func find(name string) (option, bool) {
	all := slices.Concat(runTable, setUpTable)
	i := slices.IndexFunc(all, func(t option) bool { return t.name == name })
	if i < 0 {
		return option{}, false
	}
	return all[i], true
}

// Heartbeat is how often a worker says that it's alive: the contract's 15 s, in 60 of silence.
func (o Options) Heartbeat() time.Duration { return o.silence() / beatsInSilence }

const beatsInSilence = 4

func (o Options) silence() time.Duration { return cmp.Or(o.Silence, silenceLimit) }

// Given is what the user set, for the run record.
func (o Options) Given() map[string]string { return o.given }

// RunHelp is what a run follows, as lines for a command's help.
func RunHelp() string { return help(runTable) }

// SetUpHelp is RunHelp for set-up.
func SetUpHelp() string { return help(setUpTable) }

func help(table []option) string {
	var b strings.Builder
	for _, t := range table {
		fmt.Fprintf(&b, "  %-32s %s\n", t.name+"="+t.values, t.help)
	}
	return b.String()
}

func optionNames() string {
	var names []string
	for _, t := range slices.Concat(runTable, setUpTable) {
		if !slices.Contains(names, t.name) {
			names = append(names, t.name)
		}
	}
	return strings.Join(names, ", ")
}

var setImage = text(func(o *Options) *string { return &o.Image })

const (
	// ShardsAuto is the number of shards that is chosen when the machine is known; auto is how to ask for it.
	ShardsAuto = 0
	auto       = "auto"
	// MaxShards bounds what one engine is asked for; more is surely a typing mistake.
	MaxShards = 256
)

func setShards(o *Options, v string) error {
	if v == auto {
		o.Shards = ShardsAuto
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > MaxShards {
		return fmt.Errorf("want a whole number from 1 to %d, or auto", MaxShards)
	}
	o.Shards = n
	return nil
}

func weight(o *Options, v string) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 1 || n > 10_000 {
		return errors.New("want a whole number from 1 to 10000")
	}
	o.CPUWeight = n
	return nil
}

func choice(field func(*Options) *string, allowed ...string) func(*Options, string) error {
	return func(o *Options, v string) error {
		if !slices.Contains(allowed, v) {
			return fmt.Errorf("want one of %s", strings.Join(allowed, ", "))
		}
		*field(o) = v
		return nil
	}
}

func text(field func(*Options) *string) func(*Options, string) error {
	return func(o *Options, v string) error { *field(o) = v; return nil }
}

func list(field func(*Options) *[]string) func(*Options, string) error {
	return func(o *Options, v string) error { *field(o) = strings.Split(v, ","); return nil }
}

func count(least int64, field func(*Options) *int64) func(*Options, string) error {
	return func(o *Options, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < least {
			return fmt.Errorf("want a whole number of at least %d", least)
		}
		*field(o) = n
		return nil
	}
}

func duration(field func(*Options) *time.Duration) func(*Options, string) error {
	return func(o *Options, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < time.Second {
			return errors.New("want a duration of a second or more, such as 90s or 10m")
		}
		*field(o) = d
		return nil
	}
}

// size takes bytes or a number with k, m, g (powers of 1024), as podman and docker do.
// size takes bytes; the least is a whole number of MiB.
func size(least int64, field func(*Options) *int64) func(*Options, string) error {
	return func(o *Options, v string) error {
		digits := strings.TrimRight(strings.ToLower(v), "kmgib")
		shift, ok := map[string]uint{"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30, "gib": 30}[strings.ToLower(v)[len(digits):]]
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || !ok || n < 1 || n > 1<<62>>shift {
			return errors.New("want a size such as 2g or 1536m")
		}
		if n <<= shift; n < least {
			return fmt.Errorf("want at least %dm", least>>20)
		}
		*field(o) = n
		return nil
	}
}
