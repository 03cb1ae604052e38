package podman

import (
	"fmt"
	"reflect"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
)

// limits are what the engine can limit; see Backend.
type limits struct {
	cgroup2     bool
	controllers map[string]bool
}

// translate turns a config into a create request. Each part takes out of its piece of the spec what
// it has put into the request; what remains is something that Podman's request can't say, or that
// this package doesn't know, and is ErrInvalid.
func translate(c backends.Config, l limits) (createRequest, error) {
	if err := c.Validate(); err != nil {
		return createRequest{}, err
	}
	r := newRequest()
	r.Name, r.Image, r.Labels = c.Name, c.Image, c.Labels
	r.NetNS = namespace{nsDefault}
	if c.Network == backends.NetworkNone {
		r.NetNS, r.BaseHostsFile = namespace{nsNone}, "none"
	}
	s := *c.Spec
	user := s.Process.User
	steps := []func() error{
		func() error { return r.takeProcess(*s.Process) },
		func() error { return r.takeLinux(*s.Linux, l) },
		func() error { return r.takeMounts(s.Mounts, user) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return createRequest{}, fmt.Errorf("shard %s: %w", c.Name, err)
		}
	}
	if s.Root != nil {
		r.ReadOnly = s.Root.Readonly
	}
	r.Hostname, r.Annotations = s.Hostname, s.Annotations
	s.Version, s.Root, s.Process, s.Linux, s.Mounts, s.Hostname, s.Annotations = "", nil, nil, nil, nil, "", nil
	if err := leftover("spec", s); err != nil {
		return createRequest{}, fmt.Errorf("shard %s: %w", c.Name, err)
	}
	return r, nil
}

func (r *createRequest) takeProcess(p specs.Process) error {
	r.Entrypoint, r.Command = p.Args[:1], p.Args[1:]
	r.WorkDir = p.Cwd
	r.NoNewPrivileges = p.NoNewPrivileges
	r.ApparmorProfile = p.ApparmorProfile
	r.OOMScoreAdj = p.OOMScoreAdj
	r.Env = make(map[string]string, len(p.Env))
	for _, e := range p.Env {
		name, value, _ := strings.Cut(e, "=")
		r.Env[name] = value
	}
	for _, l := range p.Rlimits {
		l.Type = strings.ToLower(strings.TrimPrefix(l.Type, "RLIMIT_"))
		r.Rlimits = append(r.Rlimits, l)
	}
	if err := r.takeUser(p.User); err != nil {
		return err
	}
	if c := p.Capabilities; c == nil {
		return invalid("process.capabilities is missing, which leaves them to the engine")
	} else if err := leftover("process.capabilities", *c); err != nil {
		return err // the request drops all
	}
	p.Args, p.Cwd, p.Env, p.Rlimits, p.User, p.Capabilities = nil, "", nil, nil, specs.User{}, nil
	p.NoNewPrivileges, p.ApparmorProfile, p.OOMScoreAdj = false, "", nil
	return leftover("process", p)
}

func (r *createRequest) takeUser(u specs.User) error {
	r.User = fmt.Sprintf("%d:%d", u.UID, u.GID)
	if u.Umask != nil {
		r.Umask = fmt.Sprintf("%04o", *u.Umask)
	}
	u.UID, u.GID, u.Umask = 0, 0, nil
	return leftover("process.user", u)
}

func (r *createRequest) takeLinux(l specs.Linux, lim limits) error {
	if err := checkNamespaces(l.Namespaces); err != nil {
		return err
	}
	if l.Seccomp == nil {
		return invalid("linux.seccomp is missing")
	}
	for _, p := range l.ReadonlyPaths {
		if !readonlyByPodman[p] {
			return invalid("linux.readonlyPaths: Podman's request can't say %s", p)
		}
	}
	if l.RootfsPropagation != "" && l.RootfsPropagation != "private" && l.RootfsPropagation != "rprivate" {
		return invalid("linux.rootfsPropagation %q isn't private", l.RootfsPropagation)
	}
	r.RootfsPropagation = l.RootfsPropagation
	r.Mask = l.MaskedPaths
	r.Sysctl = l.Sysctl
	if l.Resources != nil {
		if err := r.takeResources(*l.Resources, lim); err != nil {
			return err
		}
	}
	l.Namespaces, l.Seccomp, l.ReadonlyPaths, l.RootfsPropagation = nil, nil, nil, ""
	l.MaskedPaths, l.Sysctl, l.Resources = nil, nil, nil
	return leftover("linux", l)
}

// readonlyByPodman are the paths that Podman makes read-only in every container that isn't
// privileged, since before 4.3. It has no key to add one.
var readonlyByPodman = map[string]bool{
	"/proc/asound": true, "/proc/bus": true, "/proc/fs": true, "/proc/irq": true, "/proc/sys": true, "/proc/sysrq-trigger": true,
}

// checkNamespaces wants all that a shard has, each new: sharing one with the machine or another
// container is nothing that this package does.
func checkNamespaces(list []specs.LinuxNamespace) error {
	need := map[specs.LinuxNamespaceType]bool{
		specs.PIDNamespace: true, specs.IPCNamespace: true, specs.UTSNamespace: true,
		specs.MountNamespace: true, specs.NetworkNamespace: true, specs.CgroupNamespace: true,
	}
	for _, n := range list {
		if !need[n.Type] {
			return invalid("linux.namespaces: %s is the engine's, or there twice", n.Type)
		}
		if n.Path != "" {
			return invalid("linux.namespaces: %s joins another", n.Type)
		}
		delete(need, n.Type)
	}
	for t := range need {
		return invalid("linux.namespaces: without %s it would be shared with the machine", t)
	}
	return nil
}

// leftover is an error that names the first field of v that says something.
func leftover(name string, v any) error {
	rv := reflect.ValueOf(v)
	for i := range rv.NumField() {
		f := rv.Field(i)
		empty := f.IsZero()
		if k := f.Kind(); k == reflect.Slice || k == reflect.Map {
			empty = f.Len() == 0
		}
		if !empty {
			field, _, _ := strings.Cut(rv.Type().Field(i).Tag.Get("json"), ",")
			return invalid("%s.%s can't be carried to Podman", name, field)
		}
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, backends.ErrInvalid)...)
}
