package backends

import (
	"errors"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

func validConfig() Config {
	return Config{
		Name: "a", Image: "i", Network: NetworkNone,
		Spec: &specs.Spec{Process: &specs.Process{Args: []string{"x"}}, Linux: &specs.Linux{}},
	}
}

func TestConfigValidate(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Config)
		want string // "" for valid
	}{
		{"good", func(*Config) {}, ""},
		{"name empty", func(c *Config) { c.Name = "" }, "name"},
		{"name leading dash", func(c *Config) { c.Name = "-a" }, "name"},
		{"name slash", func(c *Config) { c.Name = "a/b" }, "name"},
		{"no image", func(c *Config) { c.Image = "" }, "image"},
		{"no spec", func(c *Config) { c.Spec = nil }, "spec"},
		{"no args", func(c *Config) { c.Spec.Process.Args = nil }, "spec"},
		{"network host", func(c *Config) { c.Network = "host" }, "network"},
		{"env without =", func(c *Config) { c.Spec.Process.Env = []string{"A"} }, "NAME=value"},
		{"env with NUL", func(c *Config) { c.Spec.Process.Env = []string{"A=\x00"} }, `"A"`},
		{"label good", func(c *Config) { c.Labels = map[string]string{"a*b/~!": "ü = \n"} }, ""},
		{"label key empty", func(c *Config) { c.Labels = map[string]string{"": "x"} }, "label key"},
		{"label key =", func(c *Config) { c.Labels = map[string]string{"a=b": "x"} }, "label key"},
		{"label key space", func(c *Config) { c.Labels = map[string]string{"a b": "x"} }, "label key"},
		{"label value bytes", func(c *Config) { c.Labels = map[string]string{"a": "\xff"} }, "UTF-8"},
		{"label fits", func(c *Config) { c.Labels = map[string]string{"a": strings.Repeat("x", 4095)} }, ""},
		{"label too long", func(c *Config) { c.Labels = map[string]string{"a": strings.Repeat("x", 4096)} }, "4096"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := validConfig()
			tt.edit(&c)
			checkInvalid(t, c.Validate(), tt.want)
		})
	}
}

func TestProcessValidate(t *testing.T) {
	tests := []struct {
		name string
		p    Process
		want string
	}{
		{"good", Process{Args: []string{"a", ""}, Env: []string{"A="}}, ""},
		{"no command", Process{}, "command"},
		{"empty command", Process{Args: []string{""}}, "command"},
		{"NUL", Process{Args: []string{"a", "\x00"}}, "NUL"},
		{"env", Process{Args: []string{"a"}, Env: []string{"=x"}}, "NAME=value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkInvalid(t, tt.p.Validate(), tt.want) })
	}
}

func TestEnvErrorsHoldNoValue(t *testing.T) {
	err := Process{Args: []string{"a"}, Env: []string{"TOKEN=s3cret\x00"}}.Validate()
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Fatalf("error %v", err)
	}
}

func checkInvalid(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
		t.Fatalf("error %v, want ErrInvalid with %q", err, want)
	}
}

func TestListedCarries(t *testing.T) {
	l := Listed{Labels: map[string]string{"owner": "me", "empty": ""}}
	tests := map[string]struct {
		labels map[string]string
		want   bool
	}{
		"none":        {nil, true},
		"value":       {map[string]string{"owner": "me"}, true},
		"other value": {map[string]string{"owner": "you"}, false},
		"any value":   {map[string]string{"owner": ""}, true},
		"empty value": {map[string]string{"empty": ""}, true},
		"no value":    {map[string]string{"empty": "me"}, false},
		"no label":    {map[string]string{"run": ""}, false},
		"not all":     {map[string]string{"owner": "me", "run": "1"}, false},
	}
	for name, tt := range tests {
		if got := l.Carries(tt.labels); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
