package podman

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// shmPath has to be in the spec. What Podman mounts there by itself (shm_size) is a file system of the
// engine's machine, bound in; a mount of the request's takes its place.
const shmPath = "/dev/shm"

// systemMounts are those that Podman makes in every container, with what it gives them. A spec may
// name one with these options or fewer, none of them stricter than what is made.
var systemMounts = map[string]specs.Mount{
	"/proc":          {Type: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
	"/dev":           {Type: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
	"/dev/pts":       {Type: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
	"/dev/mqueue":    {Type: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
	"/sys":           {Type: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
	"/sys/fs/cgroup": {Type: "cgroup", Options: []string{"rprivate", "nosuid", "noexec", "nodev", "relatime", "ro"}},
}

func (r *createRequest) takeMounts(mounts []specs.Mount, user specs.User) error {
	for _, m := range mounts {
		if path.Clean(m.Destination) != m.Destination || !path.IsAbs(m.Destination) {
			return invalid("mount %q isn't a clean absolute path", m.Destination)
		}
		if len(m.UIDMappings)+len(m.GIDMappings) > 0 {
			return invalid("mount %s: id mappings can't be carried to Podman", m.Destination)
		}
		if err := r.takeMount(m, user); err != nil {
			return fmt.Errorf("mount %s: %w", m.Destination, err)
		}
	}
	if !slices.ContainsFunc(r.Mounts, func(m specs.Mount) bool { return m.Destination == shmPath }) {
		return invalid("mount %s is missing, which leaves its size to the engine", shmPath)
	}
	return nil
}

func (r *createRequest) takeMount(m specs.Mount, user specs.User) error {
	if made, ok := systemMounts[m.Destination]; ok {
		return checkSystemMount(m, made)
	}
	if m.Type != "tmpfs" {
		return invalid("type %q: only tmpfs can be mounted", m.Type)
	}
	o, err := parseOptions(m.Options)
	if err != nil {
		return err
	}
	out, err := o.tmpfs(m.Destination, user)
	r.Mounts = append(r.Mounts, out)
	return err
}

func checkSystemMount(m, made specs.Mount) error {
	want, err := parseOptions(m.Options)
	if err != nil {
		return err
	}
	got, err := parseOptions(made.Options)
	if err != nil {
		return err
	}
	if m.Type != made.Type {
		return invalid("type %q: Podman mounts %s", m.Type, made.Type)
	}
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			return invalid("Podman mounts it without %s", k.text(v))
		}
	}
	return nil
}

// tmpfs says a tmpfs as Podman takes it. 4.3 refuses uid= and gid=, but has U: owned by the
// container's user. Without notmpcopyup it would copy what the image has there, mode included.
func (o options) tmpfs(destination string, user specs.User) (specs.Mount, error) {
	out := specs.Mount{Destination: destination, Type: "tmpfs", Source: "tmpfs", Options: []string{"rw", "notmpcopyup"}}
	for _, k := range []option{"mode", "size"} {
		if _, ok := o[k]; !ok {
			return out, invalid("it has no %s, and runtimes have different defaults (podman#20754)", k)
		}
	}
	if uid, gid := o["uid"], o["gid"]; uid == int64(user.UID) && gid == int64(user.GID) {
		out.Options = append(out.Options, "U")
	} else if uid != 0 || gid != 0 {
		return out, invalid("owner %d:%d is neither root nor the shard's user", uid, gid)
	}
	for _, k := range []option{"nosuid", "nodev", "noexec", "mode", "size"} {
		if v, ok := o[k]; ok {
			out.Options = append(out.Options, k.text(v))
		}
	}
	for k := range o {
		switch k {
		case "nosuid", "nodev", "noexec", "mode", "size", "uid", "gid", "rw":
		default:
			return out, invalid("option %s can't be carried to Podman", k)
		}
	}
	return out, nil
}

// options are a mount's, with the value that a name has: modes and sizes as numbers, so that
// "0755" and "755", "64k" and "65536" are the same.
type options map[option]int64

type option string

func (k option) text(v int64) string {
	switch k {
	case "mode", "ptmxmode":
		return fmt.Sprintf("%s=%04o", k, v)
	case "size", "uid", "gid":
		return fmt.Sprintf("%s=%d", k, v)
	}
	return string(k)
}

func parseOptions(list []string) (options, error) {
	o := options{}
	for _, s := range list {
		name, value, hasValue := strings.Cut(s, "=")
		k := option(name)
		if _, twice := o[k]; twice {
			return nil, invalid("option %s is there twice", name)
		}
		v, err := k.parse(value, hasValue)
		if err != nil {
			return nil, invalid("option %q can't be read", s)
		}
		o[k] = v
	}
	return o, nil
}

func (k option) parse(value string, hasValue bool) (int64, error) {
	switch k {
	case "mode", "ptmxmode":
		return strconv.ParseInt(value, 8, 32)
	case "uid", "gid":
		return strconv.ParseInt(value, 10, 32)
	case "size":
		return parseSize(value)
	}
	if hasValue {
		return 0, strconv.ErrSyntax
	}
	return 0, nil
}

// parseSize reads a tmpfs size: bytes, or with k, m or g.
func parseSize(s string) (int64, error) {
	unit := int64(1)
	if i := strings.IndexAny(s, "kKmMgG"); i >= 0 && i == len(s)-1 {
		unit = map[byte]int64{'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30}[s[i]|0x20]
		s = s[:i]
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n * unit, err
}
