package podman

import (
	"fmt"
	"strings"

	"github.com/berth-run/berth/backends"
)

// hostInfo is part of GET /info.
type hostInfo struct {
	Arch              string   `json:"arch"`
	OS                string   `json:"os"`
	CgroupVersion     string   `json:"cgroupVersion"`
	CgroupManager     string   `json:"cgroupManager"`
	CgroupControllers []string `json:"cgroupControllers"`
	CPUs              int      `json:"cpus"`
	MemFree           int64    `json:"memFree"`
	MemTotal          int64    `json:"memTotal"`
	IDMappings        struct {
		UIDMap []idMap `json:"uidmap"`
		GIDMap []idMap `json:"gidmap"`
	} `json:"idMappings"`
	OCIRuntime  ociRuntime `json:"ociRuntime"`
	Slirp4netns tool       `json:"slirp4netns"`
	Pasta       tool       `json:"pasta"`
	Security    struct {
		Rootless       bool `json:"rootless"`
		SECCOMPEnabled bool `json:"seccompEnabled"`
	} `json:"security"`
}

type idMap struct {
	Size int64 `json:"size"`
}

type tool struct {
	Executable string `json:"executable"`
}

type ociRuntime struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// name is "crun 1.8.1": the first line of the version text is "crun version 1.8.1".
func (r ociRuntime) name() string {
	line, _, _ := strings.Cut(r.Version, "\n")
	if line == "" {
		return r.Name
	}
	return strings.Replace(strings.TrimSpace(line), " version ", " ", 1)
}

// capabilities says which limits really come into force. A rootless Podman that manages cgroups
// without systemd shows a limit in inspect and makes no cgroup for it (podman#21575).
func (h hostInfo) capabilities() backends.Capabilities {
	has := func(controller string) bool {
		for _, c := range h.CgroupControllers {
			if c == controller {
				return !h.Security.Rootless || h.CgroupVersion == "v2" && h.CgroupManager == "systemd"
			}
		}
		return false
	}
	return backends.Capabilities{
		MemoryLimit:   has("memory"),
		PidsLimit:     has("pids"),
		CPUWeight:     has("cpu"),
		Isolation:     true,
		Copy:          true,
		NetworkEngine: h.noNetwork() == "",
	}
}

// noNetwork says why a shard can't have the engine's network, "" where it can.
func (h hostInfo) noNetwork() string {
	if !h.Security.Rootless || h.Slirp4netns.Executable != "" || h.Pasta.Executable != "" {
		return ""
	}
	return "a rootless Podman needs pasta or slirp4netns for it: install one (Debian: `apt install passt slirp4netns`)"
}

type infoResponse struct {
	Host  hostInfo `json:"host"`
	Store struct {
		GraphDriverName string `json:"graphDriverName"`
		GraphRoot       string `json:"graphRoot"`
	} `json:"store"`
	Version struct {
		Version string `json:"Version"`
	} `json:"version"`
}

// minIDs is how many ids an image may use: berth's own only use those below it.
const minIDs = 65536

// check refuses an engine that can be reached and still can't carry shards.
func (r infoResponse) check() error {
	h := r.Host
	if h.OS != "linux" {
		return fmt.Errorf("%w: Podman %s runs on %s, and shards need Linux: point CONTAINER_HOST to one there", backends.ErrUnsupported, r.Version.Version, h.OS)
	}
	if !h.Security.SECCOMPEnabled {
		return fmt.Errorf("%w: this Podman has no seccomp, which shards rely on: use a distribution's build", backends.ErrUnsupported)
	}
	if h.Security.Rootless && (total(h.IDMappings.UIDMap) < minIDs || total(h.IDMappings.GIDMap) < minIDs) {
		return fmt.Errorf("%w: this user has too few subordinate ids for unpacking images: %s", backends.ErrUnavailable, subidAdvice)
	}
	return nil
}

func total(m []idMap) int64 {
	var n int64
	for _, i := range m {
		n += i.Size
	}
	return n
}
