package session

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestFromEnv(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	good := map[string]string{
		"DISPLAY": ":7", "HOME": "/home/berth", "XDG_RUNTIME_DIR": dir,
		"DBUS_SESSION_BUS_ADDRESS": "unix:path=" + dir + "/bus", "GNOME_KEYRING_CONTROL": dir + "/keyring",
	}
	tests := []struct {
		name, variable, value, want string
	}{
		{"good", "DISPLAY", ":7", ""},
		{"another host's display", "DISPLAY", "host:7", `DISPLAY is "host:7"`},
		{"no display", "DISPLAY", "", `DISPLAY is ""`},
		{"another bus", "DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus", "DBUS_SESSION_BUS_ADDRESS"},
		{"another keyring", "GNOME_KEYRING_CONTROL", "", "GNOME_KEYRING_CONTROL"},
		{"relative home", "HOME", "berth", "the home"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := FromEnv(func(name string) string {
				if name == tt.variable {
					return tt.value
				}
				return good[name]
			})
			if tt.want == "" {
				if want := (Config{Display: 7, RuntimeDir: dir, Home: "/home/berth"}); err != nil || cfg != want {
					t.Errorf("%+v, error %v, want %+v", cfg, err, want)
				}
				return
			}
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestConfigCheck(t *testing.T) {
	private, open := t.TempDir(), t.TempDir()
	for dir, mode := range map[string]os.FileMode{private: 0o700, open: 0o755} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"good", Config{RuntimeDir: private, Home: "/home/berth"}, ""},
		{"runtime directory open to others", Config{RuntimeDir: open, Home: "/home/berth"}, "mode 0700"},
		{"no runtime directory", Config{RuntimeDir: "/no/such", Home: "/home/berth"}, "mode 0700"},
		{"too long for a socket", Config{RuntimeDir: "/" + strings.Repeat("x", 100), Home: "/home/berth"}, "too long"},
		{"negative screen", Config{RuntimeDir: private, Home: "/home/berth", Width: -1}, "-1x0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.cfg.check()
			if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestLastLines(t *testing.T) {
	long := strings.Repeat("x", 300)
	tests := []struct{ text, want string }{
		{"", ""},
		{"one\n", "one"},
		{"one\n\n two \nthree", "two | three"},
		{long, long[:200]},
	}
	for _, tt := range tests {
		if got := lastLines(tt.text, 2); got != tt.want {
			t.Errorf("of %q: %q, want %q", tt.text, got, tt.want)
		}
	}
}
