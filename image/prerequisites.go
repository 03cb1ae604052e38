package image

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"strings"
)

// needDebian checks what building a root file system needs of this machine, and reports all that is
// missing at once.
func needDebian(arch, keyring string) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%w Linux for the root file system: build there, or bring an image with image=", ErrPrerequisite)
	}
	var errs []error
	if arch != runtime.GOARCH {
		errs = append(errs, fmt.Errorf("%w a %s machine for a %s engine: build there, or bring an image with image=", ErrPrerequisite, arch, arch))
	}
	errs = append(errs, needProgram("mmdebstrap", "mmdebstrap"))
	if _, err := os.Stat(keyring); err != nil {
		errs = append(errs, fmt.Errorf("%w Debian's keyring at %s: install the package debian-archive-keyring", ErrPrerequisite, keyring))
	}
	if os.Getuid() != 0 {
		errs = append(errs, needProgram("newuidmap", "uidmap"), needSubIDs("/etc/subuid"), needSubIDs("/etc/subgid"))
	}
	return errors.Join(errs...)
}

func needProgram(name, pkg string) error {
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("%w %s: install the package %s", ErrPrerequisite, name, pkg)
	}
	return nil
}

// needSubIDs checks for 65536 subordinate ids of this user in file, as subuid(5) and subgid(5) have it.
func needSubIDs(file string) error {
	u, err := user.Current()
	if err != nil {
		return fmt.Errorf("%w a user with a name: %w", ErrPrerequisite, err)
	}
	text, err := os.ReadFile(file)
	if err == nil && subIDs(string(text), u.Username, u.Uid) >= maxID {
		return nil
	}
	return fmt.Errorf("%w 65536 subordinate ids for %s in %s: as root, run usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s",
		ErrPrerequisite, u.Username, file, u.Username)
}

// subIDs is the largest range of a user.
func subIDs(text, name, uid string) int {
	largest := 0
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) != 3 || f[0] != name && f[0] != uid {
			continue
		}
		if n, err := strconv.Atoi(f[2]); err == nil {
			largest = max(largest, n)
		}
	}
	return largest
}
