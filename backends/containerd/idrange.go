package containerd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
)

// idRange is what a shard's ids are on the machine, where the engine is root's: uid U in it is UID+U.
type idRange struct {
	UID, GID uint32
}

const (
	// rangeSize is how many ids an image may use: berth's own only use those below it.
	rangeSize = 65536
	// freeID begins a range that nobody hands out: above systemd's for containers, which end here, and
	// below the negative ones (systemd's docs/UIDS-GIDS.md).
	freeID = 0x70000000
	// rangeUser owns subordinate ids for containers that root makes; Podman's name for it.
	rangeUser = "containers"
)

// hostRange gives the subordinate ids of user "containers" if there are any, else a range that is free
// on every machine.
func hostRange() (*idRange, error) {
	uid, uerr := subordinate("/etc/subuid")
	gid, gerr := subordinate("/etc/subgid")
	if err := errors.Join(uerr, gerr); err != nil {
		return nil, err
	}
	if uid == 0 || gid == 0 {
		return &idRange{freeID, freeID}, nil
	}
	return &idRange{uid, gid}, nil
}

// subordinate gives the first id of rangeUser's in a file of name:first:count lines, 0 if it has none.
func subordinate(file string) (uint32, error) {
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("reading subordinate ids: %w", err)
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		f := strings.Split(strings.TrimSpace(s.Text()), ":")
		if len(f) != 3 || f[0] != rangeUser {
			continue
		}
		first, err1 := strconv.ParseUint(f[1], 10, 32)
		count, err2 := strconv.ParseUint(f[2], 10, 32)
		if err1 != nil || err2 != nil || first == 0 || count < rangeSize {
			return 0, fmt.Errorf("%w: %s gives %s fewer than %d ids: write `%s:%d:%d`", backends.ErrUnavailable, file, rangeUser, rangeSize, rangeUser, freeID, rangeSize)
		}
		return uint32(first), nil
	}
	return 0, nil
}

// mappings are the range's, as a runtime spec has them.
func (r *idRange) mappings() (uids, gids []specs.LinuxIDMapping) {
	return []specs.LinuxIDMapping{{ContainerID: 0, HostID: r.UID, Size: rangeSize}},
		[]specs.LinuxIDMapping{{ContainerID: 0, HostID: r.GID, Size: rangeSize}}
}
