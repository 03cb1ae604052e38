//go:build !linux

package rig

import "testing"

// SmallDisk is for Linux only.
func SmallDisk(t *testing.T, _ string) string {
	t.Helper()
	t.Skip("needs Linux's namespaces")
	return ""
}
