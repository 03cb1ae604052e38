package app

import "syscall"

// endWithParent has the kernel end a program when the app is killed.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
