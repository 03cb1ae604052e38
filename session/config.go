// Package session is the desktop inside a shard: a display, a session bus, an unlocked keyring, the
// accessibility bus and a window manager, brought up side by side, watched, and ended whole. What it
// consists of is the table in desktop.go. It starts no app and knows of none; its parts that an app is
// driven through are the packages below it.
package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Defaults of a Config.
const (
	DefaultWidth        = 1280
	DefaultHeight       = 900
	DefaultStartTimeout = 30 * time.Second
)

// maxSocketPath is the longest path of a unix socket, in bytes (sun_path without its end).
const maxSocketPath = 107

// Config says where a session lives. Its addresses follow from Display and RuntimeDir, so that what is
// started later finds the session without being told.
type Config struct {
	Display    int    // the display's number
	RuntimeDir string // XDG_RUNTIME_DIR: absolute, there, 0700
	// Home is the services' own, where the keyring's files are; an app may have another. Absolute.
	Home          string
	Width, Height int           // of the screen, in pixels; 0 is the default
	StartTimeout  time.Duration // from start to ready; 0 is the default
}

// FromEnv reads a Config from the environment that every process of a shard has (oci's): DISPLAY,
// XDG_RUNTIME_DIR, HOME, and the addresses that must follow from them.
func FromEnv(getenv func(string) string) (Config, error) {
	c := Config{RuntimeDir: getenv("XDG_RUNTIME_DIR"), Home: getenv("HOME")}
	number, ok := strings.CutPrefix(getenv("DISPLAY"), ":")
	display, err := strconv.Atoi(number)
	if !ok || err != nil {
		return Config{}, fmt.Errorf("%w: DISPLAY is %q, want a local one such as :0", ErrConfig, getenv("DISPLAY"))
	}
	c.Display = display
	for _, kv := range c.addresses() {
		name, want, _ := strings.Cut(kv, "=")
		if got := getenv(name); got != want {
			return Config{}, fmt.Errorf("%w: %s is %q, want %q", ErrConfig, name, got, want)
		}
	}
	return c, c.check()
}

func (c Config) withDefaults() Config {
	if c.Width == 0 && c.Height == 0 {
		c.Width, c.Height = DefaultWidth, DefaultHeight
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = DefaultStartTimeout
	}
	return c
}

func (c Config) check() error {
	for name, dir := range map[string]string{"runtime directory": c.RuntimeDir, "home": c.Home} {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("%w: the %s is %q, want an absolute path", ErrConfig, name, dir)
		}
	}
	if c.Display < 0 || c.Width < 0 || c.Height < 0 {
		return fmt.Errorf("%w: display %d, screen %dx%d", ErrConfig, c.Display, c.Width, c.Height)
	}
	// The accessibility bus has the longest of the sockets' names.
	if longest := c.runtime("at-spi", "bus_"+strconv.Itoa(c.Display)); len(longest) > maxSocketPath {
		return fmt.Errorf("%w: %s is too long for a socket (%d bytes, at most %d)", ErrConfig, longest, len(longest), maxSocketPath)
	}
	if info, err := os.Stat(c.RuntimeDir); err != nil || info.Mode().Perm() != 0o700 || !info.IsDir() {
		return fmt.Errorf("%w: the runtime directory %s must be there with mode 0700", ErrConfig, c.RuntimeDir)
	}
	return nil
}

func (c Config) runtime(elem ...string) string {
	return filepath.Join(append([]string{c.RuntimeDir}, elem...)...)
}

func (c Config) home(elem ...string) string {
	return filepath.Join(append([]string{c.Home}, elem...)...)
}

func (c Config) display() string    { return ":" + strconv.Itoa(c.Display) }
func (c Config) busAddress() string { return "unix:path=" + c.runtime("bus") }
func (c Config) dataHome() string   { return c.home(".local", "share") }

// displaySocket is where X clients look for display number Display.
func (c Config) displaySocket() string { return filepath.Join(socketDir, "X"+strconv.Itoa(c.Display)) }

// addresses are the variables by which an app finds the session, all of them known before it's up.
func (c Config) addresses() []string {
	return []string{
		"DISPLAY=" + c.display(),
		"XDG_RUNTIME_DIR=" + c.RuntimeDir,
		"DBUS_SESSION_BUS_ADDRESS=" + c.busAddress(),
		"GNOME_KEYRING_CONTROL=" + c.runtime("keyring"),
	}
}

// services is the environment of the session's own programs. GSettings stay in memory: what reads
// none of the user's needs no dconf.
func (c Config) services() []string {
	return append(c.addresses(),
		"PATH=/usr/local/bin:/usr/bin:/bin",
		"LANG=C.UTF-8",
		"HOME="+c.Home,
		"XDG_CONFIG_HOME="+c.home(".config"),
		"XDG_DATA_HOME="+c.dataHome(),
		"XDG_CACHE_HOME="+c.home(".cache"),
		"GSETTINGS_BACKEND=memory",
	)
}
