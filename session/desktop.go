package session

import (
	"fmt"

	"github.com/godbus/dbus/v5"
)

// keyringService is the service whose absence has a code of its own.
const keyringService = "keyring"

// desktop is the session's table, each service after those that it needs. Whatever needs nothing that
// isn't ready starts at once, side by side.
var desktop = []service{
	{
		name: "display",
		program: program{
			paths:   []string{"/usr/bin/Xvfb"},
			pkg:     "xvfb",
			prepare: (*Session).prepareDisplay,
			args: func(s *Session) []string {
				// 24 bits deep, since Chromium and GTK crash or lose colours on less; no reset when the
				// last client leaves; no OpenGL, whose software renderer costs memory and time to load.
				return []string{
					s.cfg.display(), "-screen", "0", fmt.Sprintf("%dx%dx24", s.cfg.Width, s.cfg.Height),
					"-nolisten", "tcp", "-noreset", "-extension", "GLX", "-xkbdir", s.keymapDir(),
				}
			},
		},
		ready: displayListens,
	},
	{
		// Clients may connect, and load, while the display still makes its screen.
		name:  "screen",
		needs: []string{"display"},
		ready: screenAnswers,
	},
	{
		name: "bus",
		program: program{
			paths: []string{"/usr/bin/dbus-daemon"},
			pkg:   "dbus-daemon",
			args: func(s *Session) []string {
				return []string{
					"--session", "--address=" + s.cfg.busAddress(), "--print-address=1",
					"--nofork", "--nopidfile", "--nosyslog",
				}
			},
		},
		ready: busAnswers,
	},
	{
		// What the bus starts by itself (a prompter, say) finds the session too.
		name:  "activation",
		needs: []string{"bus"},
		ready: updateActivation,
	},
	{
		name:  keyringService,
		needs: []string{"activation"},
		program: program{
			paths:   []string{"/usr/bin/gnome-keyring-daemon"},
			pkg:     "gnome-keyring",
			prepare: (*Session).writeKeyring,
			args: func(s *Session) []string {
				return []string{"--foreground", "--components=secrets", "--control-directory=" + s.cfg.runtime("keyring")}
			},
		},
		ready: keyringOpens,
	},
	{
		name:  "accessibility",
		needs: []string{"activation", "display"},
		program: program{
			paths: []string{"/usr/libexec/at-spi-bus-launcher", "/usr/lib/at-spi2-core/at-spi-bus-launcher"},
			pkg:   "at-spi2-core",
			args: func(*Session) []string {
				return []string{"--launch-immediately", "--a11y=1", "--screen-reader=1"}
			},
		},
		ready: accessibilityOn,
		conn:  func(s *Session) *dbus.Conn { return s.a11y },
	},
	{
		name:  "registry",
		needs: []string{"accessibility"},
		program: program{
			paths: []string{"/usr/libexec/at-spi2-registryd", "/usr/lib/at-spi2-core/at-spi2-registryd"},
			pkg:   "at-spi2-core",
			env:   func(s *Session) []string { return []string{"AT_SPI_BUS_ADDRESS=" + s.a11yAddr} },
		},
		ready: registryAnswers,
	},
	{
		// Without one, an app believes that it has the focus and gets no keys.
		name:  "windows",
		needs: []string{"display"},
		program: program{
			paths:   []string{"/usr/bin/openbox"},
			pkg:     "openbox",
			prepare: (*Session).writeWindowConfig,
			args: func(s *Session) []string {
				return []string{"--sm-disable", "--config-file", s.windowConfig()}
			},
			env: windowEnv,
		},
		ready: windowsManaged,
	},
}
