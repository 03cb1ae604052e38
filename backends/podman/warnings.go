package podman

import (
	"fmt"
	"slices"
	"strings"
)

const (
	overlayAdvice = "run `podman system reset`, which removes all that is stored, and write `driver = \"overlay\"` under `[storage]` in ~/.config/containers/storage.conf"
	// delegateAdvice is systemd's way to hand controllers to users (podman#22147).
	delegateAdvice = `run ` + "`" + `printf '[Service]\nDelegate=cpu cpuset io memory pids\n' | sudo install -D -m 644 /dev/stdin /etc/systemd/system/user@.service.d/delegate.conf && sudo systemctl daemon-reload` + "`" + `, then log in again`
)

// warnings are what works with this engine, but badly: each is a line with the cause and the way on.
func (r infoResponse) warnings() []string {
	var w []string
	if r.Store.GraphDriverName == "vfs" {
		w = append(w, "Podman's storage driver is vfs, which copies the whole image for each shard: "+overlayAdvice)
	}
	if l := r.Host.limitsWarning(); l != "" {
		w = append(w, l)
	}
	return w
}

// limitsWarning tells which limits won't be in force for want of what, "" when all will be.
func (h hostInfo) limitsWarning() string {
	switch {
	case !h.Security.Rootless:
	case h.CgroupVersion != "v2":
		return "no limit is in force on cgroup v1 without root: boot with `systemd.unified_cgroup_hierarchy=1`"
	case h.CgroupManager != "systemd": // podman#21575
		return fmt.Sprintf("no limit is in force, since Podman's cgroup manager is %s: %s", h.CgroupManager, lingerNote)
	}
	var missing []string
	for _, c := range []string{"memory", "pids", "cpu"} {
		if !slices.Contains(h.CgroupControllers, c) {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("cgroup controllers that this user isn't given (%s), so their limits aren't in force: %s", strings.Join(missing, ", "), delegateAdvice)
}
