package podman

import (
	"slices"
	"strings"
)

// Podman gets what a login gives a program, its own settings and where its network is, and nothing
// else of berth's environment: whatever is in there would be in the service's as long as it runs, and
// a user may well have exported a key for the model.
var (
	envNames = []string{
		"HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
		"DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "SSL_CERT_DIR", "SSL_CERT_FILE",
		"ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy", "http_proxy", "https_proxy", "no_proxy",
	}
	// BERTH_ marks what a test of berth's started.
	envPrefixes = []string{"BERTH_", "CONTAINERS_", "CONTAINER_", "LC_", "NETAVARK_", "PODMAN_", "STORAGE_", "XDG_", "_CONTAINERS_"}
)

// podmanEnv is the part of env that a podman command gets.
func podmanEnv(env []string) []string {
	var kept []string
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if slices.Contains(envNames, name) || slices.ContainsFunc(envPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			kept = append(kept, e)
		}
	}
	return kept
}
