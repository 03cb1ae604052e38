package image

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// npmPackage fetches a locked package, once, and gives the path of its tarball.
func (b *build) npmPackage(ctx context.Context, pkg packageLock) (string, error) {
	final := b.cache.path("npm", keyOf(pkg.Integrity)+".tgz")
	if checkIntegrity(final, pkg.Integrity) == nil {
		b.report.emit(Event{Step: StepFetch, Detail: pkg.Spec, Bytes: pkg.Size, Total: pkg.Size, Cached: true, Done: true})
		return final, nil
	}
	if err := needProgram("npm", "npm"); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(b.cache.path("tmp"), "npm-")
	if err != nil {
		return "", storageError(b.cache.dir, err)
	}
	defer os.RemoveAll(tmp)
	got, err := b.npmPack(ctx, pkg, tmp)
	if err != nil {
		return "", storageError(b.cache.dir, err)
	}
	if err := checkIntegrity(got, pkg.Integrity); err != nil {
		return "", fmt.Errorf("%s: %w", pkg.Spec, err)
	}
	b.report.emit(Event{Step: StepFetch, Detail: pkg.Spec, Bytes: pkg.Size, Total: pkg.Size, Done: true})
	return final, os.Rename(got, final)
}

// npmPack runs the npm client, which knows the user's registry, proxy and login. Its own cache goes
// below tmp too: the tarball is kept once.
func (b *build) npmPack(ctx context.Context, pkg packageLock, tmp string) (string, error) {
	cmd := b.cache.command(ctx, "npm", "pack", pkg.Spec, "--pack-destination", tmp, "--cache", filepath.Join(tmp, "cache"),
		"--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--foreground-scripts=false")
	cmd.Dir = tmp // not a project, so that no .npmrc of one takes part
	said := &lines{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("%w npm: %w", ErrPrerequisite, err)
	}
	stop := b.watchGrowth(tmp, pkg)
	err := wait(ctx, cmd)
	stop()
	if full := said.outOfSpace(); full != nil && ctx.Err() == nil {
		return "", full
	}
	if ctx.Err() != nil {
		return "", err
	}
	if err != nil {
		why := urlInText.ReplaceAllStringFunc(said.cause("npm error code", "npm ERR! code", "npm error"), redactURL)
		return "", fmt.Errorf("%w: npm pack %s (%w): %s", ErrFetch, pkg.Spec, err, why)
	}
	found, _ := filepath.Glob(filepath.Join(tmp, "*.tgz")) // fails for bad patterns only
	if len(found) != 1 {
		return "", fmt.Errorf("%w: npm pack %s left %d tarballs", ErrFetch, pkg.Spec, len(found))
	}
	return found[0], nil
}

// watchInterval is how often a download's size is looked at: npm tells nothing of it.
const watchInterval = 500 * time.Millisecond

// watchGrowth reports the size of what lies below dir until stop is called.
func (b *build) watchGrowth(dir string, pkg packageLock) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				n := largestFile(dir)
				b.report.emit(Event{Step: StepFetch, Detail: pkg.Spec, Bytes: n, Total: pkg.Size})
			}
		}
	}()
	return func() { close(quit); <-done }
}

func largestFile(dir string) (largest int64) {
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // npm removes as it goes
		}
		if i, err := d.Info(); err == nil && i.Mode().IsRegular() {
			largest = max(largest, i.Size())
		}
		return nil
	})
	return largest
}

// checkIntegrity compares a file with its "sha512-<base64>".
func checkIntegrity(path, integrity string) error {
	want, ok := strings.CutPrefix(integrity, "sha512-")
	if !ok {
		return fmt.Errorf("%w: the lock has no sha512", ErrIntegrity)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha512.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := base64.StdEncoding.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%w: what npm delivered has sha512-%s, and the lock wants %s: it was cut short or altered, try again", ErrIntegrity, got, integrity)
	}
	return nil
}
