//go:build !linux

package main

var probes map[string]func([]string) int
