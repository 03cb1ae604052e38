package image

import (
	"errors"
	"fmt"
	"syscall"
)

// The closed set. The text around one of these says what to do.
var (
	// ErrRecipe: the recipe asks for what can't be built.
	ErrRecipe = errors.New("image recipe invalid")
	// ErrPrerequisite: the build machine lacks a program, a keyring, subordinate ids or a mirror.
	ErrPrerequisite = errors.New("image build needs")
	// ErrIntegrity: what was fetched isn't what the lock names.
	ErrIntegrity = errors.New("integrity check failed")
	// ErrFetch: the mirror or the npm registry didn't deliver.
	ErrFetch = errors.New("fetch failed")
	// ErrNoSpace: the file system of the cache, or that of temporary files, is full. Nothing half-written is left.
	ErrNoSpace = errors.New("no space left to build an image")
	// ErrUnsafe: a layer holds what no shard may have (ids that rootless engines can't map, devices).
	ErrUnsafe = errors.New("unsafe content")
	// ErrBase: the user's own image can't be read or used.
	ErrBase = errors.New("base image unusable")
	// ErrPackage: the file that is to be the app's Debian package is damaged, for another machine, or
	// another app.
	ErrPackage = errors.New("app package unusable")
	// ErrCheck: the app refused what the image is to run it with.
	ErrCheck = errors.New("image check failed")
)

// storageError names the directory when its disk is full; any other error is returned as it is.
func storageError(dir string, err error) error {
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	if !full || errors.Is(err, ErrNoSpace) {
		return err
	}
	return fmt.Errorf("%w: free some on the file system of %s, or use another with XDG_CACHE_HOME and TMPDIR: %w", ErrNoSpace, dir, err)
}
