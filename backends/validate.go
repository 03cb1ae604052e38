package backends

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxLabel bounds a label's key and value together, as containerd does.
const maxLabel = 4096

var validName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

// Validate tells, as ErrInvalid, what no engine could take. It doesn't look into Spec: what of it an
// engine can carry is the backend's to say.
func (c Config) Validate() error {
	switch {
	case !validName.MatchString(c.Name):
		return fmt.Errorf("shard name %q doesn't match %s: %w", c.Name, validName, ErrInvalid)
	case c.Image == "":
		return fmt.Errorf("shard %s has no image: %w", c.Name, ErrInvalid)
	case c.Spec == nil || c.Spec.Process == nil || c.Spec.Linux == nil || len(c.Spec.Process.Args) == 0:
		return fmt.Errorf("shard %s has no complete spec: %w", c.Name, ErrInvalid)
	case c.Network != NetworkNone && c.Network != NetworkEngine:
		return fmt.Errorf("shard %s: network %q is neither %q nor %q: %w", c.Name, c.Network, NetworkNone, NetworkEngine, ErrInvalid)
	}
	if err := validateEnv(c.Spec.Process.Env); err != nil {
		return fmt.Errorf("shard %s: %w", c.Name, err)
	}
	for k, v := range c.Labels {
		if err := validateLabel(k, v); err != nil {
			return fmt.Errorf("shard %s: %w", c.Name, err)
		}
	}
	return nil
}

// Validate tells, as ErrInvalid, what no engine could run.
func (p Process) Validate() error {
	if len(p.Args) == 0 || p.Args[0] == "" {
		return fmt.Errorf("a process needs a command: %w", ErrInvalid)
	}
	for _, a := range p.Args {
		if !isText(a) {
			return fmt.Errorf("an argument of %q isn't UTF-8 without NUL: %w", p.Args[0], ErrInvalid)
		}
	}
	return validateEnv(p.Env)
}

// validateEnv names only the variable: a value may be secret.
func validateEnv(env []string) error {
	for _, e := range env {
		name, _, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			return fmt.Errorf("an environment entry isn't NAME=value: %w", ErrInvalid)
		}
		if !isText(e) {
			return fmt.Errorf("environment variable %q isn't UTF-8 without NUL: %w", name, ErrInvalid)
		}
	}
	return nil
}

func validateLabel(key, value string) error {
	switch {
	case key == "" || strings.ContainsFunc(key, notLabelKey):
		return fmt.Errorf("label key %q isn't printable ASCII without space and '=': %w", key, ErrInvalid)
	case !isText(value):
		return fmt.Errorf("label %s: its value isn't UTF-8 without NUL: %w", key, ErrInvalid)
	case len(key)+len(value) > maxLabel:
		return fmt.Errorf("label %s is over %d bytes: %w", key, maxLabel, ErrInvalid)
	}
	return nil
}

func notLabelKey(r rune) bool { return r <= ' ' || r >= 0x7f || r == '=' }

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
