package oci

import "strings"

// sessionEnv is the environment of every process in a shard. Addresses are fixed, so that what is
// exec'd later finds the session without being told.
var sessionEnv = []string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=" + Home,
	"USER=berth",
	"LOGNAME=berth",
	"LANG=C.UTF-8",
	"TMPDIR=/tmp",
	"XDG_RUNTIME_DIR=" + RuntimeDir,
	"XDG_CONFIG_HOME=" + Home + "/.config",
	"XDG_DATA_HOME=" + Home + "/.local/share",
	"XDG_STATE_HOME=" + Home + "/.local/state",
	"XDG_CACHE_HOME=" + Home + "/.cache",
	"DISPLAY=:0",
	"DBUS_SESSION_BUS_ADDRESS=unix:path=" + RuntimeDir + "/bus",
	"GNOME_KEYRING_CONTROL=" + RuntimeDir + "/keyring",
}

func isSessionName(name string) bool {
	for _, kv := range sessionEnv {
		if strings.HasPrefix(kv, name+"=") {
			return true
		}
	}
	return false
}
