package rig

import (
	"fmt"
	"testing"
)

// statfs is a command that tells of a folder's file system how many blocks it has, how many are free, and
// how large they are.
func statfs(dir string) []string {
	return []string{"stat", "--file-system", "--format", "%b %f %S", dir}
}

// taken reads what statfs told, in bytes.
func taken(t *testing.T, told string) int64 {
	t.Helper()
	var blocks, free, size int64
	if _, err := fmt.Sscan(told, &blocks, &free, &size); err != nil {
		t.Fatalf("%q: %v", told, err)
	}
	return (blocks - free) * size
}
