package private

import (
	"math"

	"golang.org/x/sys/unix"
)

// leastRoom is more than an app writes to a record at once; with less, the next line may not fit.
const leastRoom = 64 << 10

// Full tells that a folder's file system has no room left.
func Full(dir string) bool { return Room(dir) < leastRoom }

// Room is how many bytes a folder's file system can still take: none where it can take no file, and no end of
// them where that can't be told.
func Room(dir string) uint64 {
	var st unix.Statfs_t
	switch err := unix.Statfs(dir, &st); {
	case err != nil || st.Blocks == 0: // one without a size
		return math.MaxUint64
	case st.Files > 0 && st.Ffree == 0:
		return 0
	}
	return st.Bavail * uint64(st.Bsize)
}
