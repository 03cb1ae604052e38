//go:build !linux

package containerd

func isRootless(string) bool { return false }

func isOutside(string) bool { return false }
