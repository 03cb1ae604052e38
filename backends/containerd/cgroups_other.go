//go:build !linux

package containerd

func machineLimits(bool) limits { return limits{} }
