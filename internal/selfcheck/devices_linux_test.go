package selfcheck

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestInDev(t *testing.T) {
	for _, tt := range []struct {
		path         string
		kind         uint32
		major, minor uint32
		want         bool
	}{
		{"/dev/null", unix.S_IFCHR, 1, 3, true},
		{"/dev/null", unix.S_IFCHR, 1, 1, false}, // mem
		{"/dev/console", unix.S_IFCHR, 136, 0, true},
		{"/dev/console", unix.S_IFCHR, 5, 1, false},
		{"/dev/console", unix.S_IFREG, 0, 0, true},
		{"/dev/ptmx", unix.S_IFCHR, 5, 2, true},
		{"/dev/ptmx", unix.S_IFLNK, 0, 0, true},
		{"/dev/ptmx", unix.S_IFCHR, 10, 232, false}, // kvm
		{"/dev/fd", unix.S_IFLNK, 0, 0, true},
		{"/dev/fd", unix.S_IFCHR, 10, 229, false}, // fuse
		{"/dev/core", unix.S_IFBLK, 7, 0, false},
		{"/dev/shm", unix.S_IFDIR, 0, 0, true},
		{"/dev/net", unix.S_IFDIR, 0, 0, false},
		{"/dev/kvm", unix.S_IFCHR, 10, 232, false},
	} {
		if got := inDev(tt.path, tt.kind|0o666, unix.Mkdev(tt.major, tt.minor)); got != tt.want {
			t.Errorf("%s of kind %o, %d:%d: %v", tt.path, tt.kind, tt.major, tt.minor, got)
		}
	}
}
