package oci

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	hostname = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
)

// maxCPUWeight is the kernel's (cgroup-v2.rst, cpu.weight).
const maxCPUWeight = 10000

// validate checks a ShardSpec whose defaults are filled in.
func (s ShardSpec) validate() error {
	switch {
	case !hostname.MatchString(s.Hostname):
		return invalid("Hostname", "%q isn't one DNS label of at most 63 letters, digits and hyphens", s.Hostname)
	case s.MemoryBytes < MinMemoryBytes:
		return invalid("MemoryBytes", "%d is below the least, %d", s.MemoryBytes, int64(MinMemoryBytes))
	case s.Pids < MinPids:
		return invalid("Pids", "%d is below the least, %d", s.Pids, MinPids)
	case s.CPUWeight > maxCPUWeight:
		return invalid("CPUWeight", "%d isn't in 1 to %d", s.CPUWeight, maxCPUWeight)
	case s.HomeBytes < MinTmpfsBytes:
		return invalid("HomeBytes", "%d is below the least, %d", s.HomeBytes, MinTmpfsBytes)
	case s.TmpBytes < MinTmpfsBytes:
		return invalid("TmpBytes", "%d is below the least, %d", s.TmpBytes, MinTmpfsBytes)
	}
	if err := validateArgs(s.Args); err != nil {
		return err
	}
	return validateEnv(s.Env)
}

func validateArgs(args []string) error {
	if !strings.HasPrefix(args[0], "/") {
		return invalid("Args", "%q isn't an absolute path", args[0])
	}
	for _, a := range args {
		if strings.ContainsRune(a, 0) {
			return invalid("Args", "%q holds a NUL", a)
		}
	}
	return nil
}

// validateEnv names a variable but never its value, which may be what shouldn't be there.
func validateEnv(env []string) error {
	seen := map[string]bool{}
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		switch {
		case !ok:
			return invalid("Env", "an entry isn't NAME=value")
		case !envName.MatchString(name):
			return invalid("Env", "%q isn't a name of letters, digits and underscores", name)
		case strings.ContainsRune(value, 0):
			return invalid("Env", "%s holds a NUL", name)
		case isSessionName(name):
			return invalid("Env", "%s is fixed in a shard", name)
		case seen[name]:
			return invalid("Env", "%s is there twice", name)
		}
		seen[name] = true
	}
	return nil
}

func invalid(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrInvalid, field, fmt.Sprintf(format, args...))
}
