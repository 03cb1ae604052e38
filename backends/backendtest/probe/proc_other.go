//go:build !linux

package probe

import (
	"context"
	"errors"
)

var errLinux = errors.New("this verb needs Linux")

func reap(context.Context) {}

func raise(context.Context, []string, Stdio) (int, error)  { return 2, errLinux }
func tree(context.Context, []string, Stdio) (int, error)   { return 2, errLinux }
func orphan(context.Context, []string, Stdio) (int, error) { return 2, errLinux }
func forks(context.Context, []string, Stdio) (int, error)  { return 2, errLinux }
func ps(context.Context, []string, Stdio) (int, error)     { return 2, errLinux }
