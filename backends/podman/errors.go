package podman

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/berth-run/berth/backends"
)

// apiError is what libpod answered.
type apiError struct {
	status  int
	cause   string
	message string
}

func (e *apiError) Error() string {
	if e.message == "" {
		return fmt.Sprintf("podman: status %d", e.status)
	}
	return "podman: " + e.message
}

// ofArchive is the error of an image's load without what Podman said of the other forms that the image might
// have had.
func (e *apiError) ofArchive() *apiError {
	for line := range strings.Lines(e.message) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "* oci-archive: "); ok {
			return &apiError{e.status, e.cause, text}
		}
	}
	return e
}

func statusOf(err error) int {
	var e *apiError
	if errors.As(err, &e) {
		return e.status
	}
	return 0
}

func isNotFound(err error) bool { return statusOf(err) == http.StatusNotFound }

// says tells whether err is the engine's and holds text.
func says(err error, text string) bool {
	var e *apiError
	return errors.As(err, &e) && strings.Contains(strings.ToLower(e.message+" "+e.cause), text)
}

const (
	subidAdvice  = "run `sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER`, then `podman system migrate`"
	usernsAdvice = "this user may make no user namespace: check `sysctl kernel.unprivileged_userns_clone user.max_user_namespaces kernel.apparmor_restrict_unprivileged_userns`"
	lingerNote   = "there is no user session for Podman's cgroups: run `sudo loginctl enable-linger $USER`, log in again (not by su), and check `systemctl --user status`"
)

// known are an engine's words that have one cause and one way on. The first that matches counts.
var known = []struct {
	text     string // lower case
	sentinel error
	advice   string
}{
	{"cgroups in hybrid mode not supported", backends.ErrUnavailable,
		"this machine mounts cgroup v1 beside v2, which crun refuses: boot with `systemd.unified_cgroup_hierarchy=1`, or run berth where /sys/fs/cgroup is cgroup2 alone"},
	{"cannot set limits without cgroups", backends.ErrUnavailable, lingerNote},
	{"sd-bus call", backends.ErrUnavailable, lingerNote},
	{"failed to connect to bus", backends.ErrUnavailable, lingerNote},
	{"potentially insufficient uids or gids", backends.ErrUnavailable, subidAdvice},
	{"no subuid ranges found", backends.ErrUnavailable, subidAdvice},
	{"no subgid ranges found", backends.ErrUnavailable, subidAdvice},
	{"newuidmap: write to uid_map failed", backends.ErrUnavailable, subidAdvice},
	{"exec: \"newuidmap\"", backends.ErrUnavailable, "install newuidmap and newgidmap (Debian: `apt install uidmap`, Fedora: `dnf install shadow-utils`)"},
	{"cannot re-exec process", backends.ErrUnavailable, usernsAdvice},
	{"cannot clone: operation not permitted", backends.ErrUnavailable, usernsAdvice},
	{"/dev/net/tun", backends.ErrUnavailable, "the network driver can't open /dev/net/tun: run `sudo modprobe tun` and `sudo chmod 666 /dev/net/tun`, or use network=none"},
	{"could not find slirp4netns", backends.ErrUnavailable, "install slirp4netns, or use network=none"},
	{"could not find pasta", backends.ErrUnavailable, "install passt, or use network=none"},
	{"no seccomp policy defined by image", backends.ErrInvalid, "build the image with `berth runner setup`"},
	{"database is locked", backends.ErrUnavailable, "other Podman processes keep its database busy: try again when they are done, or run with fewer shards"},
	{"nil pointer dereference", backends.ErrUnavailable, "Podman crashed over a request, as it does when TMPDIR is no folder that this user may write to: check that first"},
	{"no space left on device", backends.ErrUnavailable, "the disk is full: `podman system df` shows what Podman holds"},
}

// explain puts the sentinel and the way on to an engine's words that are known.
func explain(err error) error {
	if err == nil {
		return nil
	}
	text := strings.ToLower(err.Error())
	for _, k := range known {
		if strings.Contains(text, k.text) {
			return fmt.Errorf("%w: %w: %s", k.sentinel, err, k.advice)
		}
	}
	return err
}
