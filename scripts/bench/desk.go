package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/berth-run/berth/session"
)

// place is where a desktop lives, for one measurement: nothing is there before it.
type place struct {
	dir string
	session.Config
}

// firstDisplay is where free display numbers are looked for, away from people's own and from tests'.
const firstDisplay = 2000

func newPlace() (*place, error) {
	dir, err := os.MkdirTemp("/tmp", "berth-bench-")
	if err != nil {
		return nil, err
	}
	p := &place{dir: dir, Config: session.Config{RuntimeDir: filepath.Join(dir, "run"), Home: filepath.Join(dir, "home")}}
	for p.Display = firstDisplay; ; p.Display++ {
		_, socket := os.Lstat("/tmp/.X11-unix/X" + strconv.Itoa(p.Display))
		_, lock := os.Lstat(fmt.Sprintf("/tmp/.X%d-lock", p.Display))
		if os.IsNotExist(socket) && os.IsNotExist(lock) {
			break
		}
	}
	if err := errors.Join(os.Mkdir(p.RuntimeDir, 0o700), os.Mkdir(p.Home, 0o700)); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

func (p *place) remove() error { return os.RemoveAll(p.dir) }

// env is what package session gives to its services.
func (p *place) env() []string {
	return []string{
		"DISPLAY=:" + strconv.Itoa(p.Display),
		"XDG_RUNTIME_DIR=" + p.RuntimeDir,
		"DBUS_SESSION_BUS_ADDRESS=unix:path=" + p.RuntimeDir + "/bus",
		"GNOME_KEYRING_CONTROL=" + p.RuntimeDir + "/keyring",
		"PATH=/usr/local/bin:/usr/bin:/bin",
		"LANG=C.UTF-8",
		"HOME=" + p.Home,
		"XDG_CONFIG_HOME=" + p.Home + "/.config",
		"XDG_DATA_HOME=" + p.Home + "/.local/share",
		"XDG_CACHE_HOME=" + p.Home + "/.cache",
		"GSETTINGS_BACKEND=memory",
	}
}
