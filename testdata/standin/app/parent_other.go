//go:build !linux

package app

import "syscall"

func endWithParent() *syscall.SysProcAttr { return nil }
