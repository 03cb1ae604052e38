package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/channel/archive"
	"github.com/berth-run/berth/oci"
)

const (
	fileBytes = 256 << 20
	fileName  = "file"
	// inDir and outDir are in the shard's home, a tmpfs.
	inDir  = oci.Home + "/bench-in"
	outDir = oci.Home + "/bench-out"
)

// files moves one file into a shard and out of it, through the channel and by `podman cp`, and sees
// each time that it arrived whole.
type files struct {
	shard *opened
	// host is a folder here with the file; sum is its checksum.
	host string
	sum  string
}

// newFiles makes the file, which nothing can make smaller, and puts it where it is read from later.
func newFiles(ctx context.Context, shard *opened) (*files, error) {
	dir, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return nil, err
	}
	f := &files{shard: shard, host: dir}
	if f.sum, err = writeRandom(f.path(), fileBytes); err == nil {
		err = f.send(ctx, outDir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return f, nil
}

func (f *files) path() string { return filepath.Join(f.host, fileName) }

// send packs the file here; the worker unpacks it.
func (f *files) send(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(f.host)
	if err != nil {
		return err
	}
	defer root.Close()
	r, w := io.Pipe()
	go func() { w.CloseWithError(archive.Pack(w, root, fileName)) }()
	err = f.shard.client.Put(ctx, dir, r)
	r.CloseWithError(err)
	return err
}

// fetch is the other way round.
func (f *files) fetch(ctx context.Context, to string) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	r, w := io.Pipe()
	go func() { w.CloseWithError(f.shard.client.Get(ctx, outDir+"/"+fileName, w)) }()
	err = archive.Unpack(root, r, archive.Limits{})
	r.CloseWithError(err)
	return err
}

func (f *files) put(ctx context.Context) (time.Duration, error) {
	return f.in(ctx, func() error { return f.send(ctx, inDir) })
}

func (f *files) copyIn(ctx context.Context) (time.Duration, error) {
	return f.in(ctx, func() error { return cli(ctx, "cp", f.path(), f.shard.name+":"+inDir+"/"+fileName) })
}

// execIn and execOut are what the engine's exec carries at best: no channel, no archive.
func (f *files) execIn(ctx context.Context) (time.Duration, error) {
	return f.in(ctx, func() error {
		from, err := os.Open(f.path())
		if err != nil {
			return err
		}
		defer from.Close()
		return f.shard.exec(ctx, backends.Process{Args: []string{"/bin/sh", "-c", "cat > " + inDir + "/" + fileName}, Stdin: from})
	})
}

func (f *files) execOut(ctx context.Context) (time.Duration, error) {
	return f.out(func(to string) error {
		into, err := os.Create(filepath.Join(to, fileName))
		if err != nil {
			return err
		}
		err = f.shard.exec(ctx, backends.Process{Args: []string{"cat", outDir + "/" + fileName}, Stdout: into})
		return errors.Join(err, into.Close())
	})
}

// in times do, which brings the file into an empty folder of the shard.
func (f *files) in(ctx context.Context, do func() error) (time.Duration, error) {
	if err := f.shard.command(ctx, "mkdir", inDir); err != nil {
		return 0, err
	}
	took, err := timed(do)
	if err != nil {
		return 0, err
	}
	check := fmt.Sprintf("echo '%s  %s/%s' | sha256sum --check --status && rm -r %[2]s", f.sum, inDir, fileName)
	return took, f.shard.command(ctx, "/bin/sh", "-c", check)
}

func (f *files) get(ctx context.Context) (time.Duration, error) {
	return f.out(func(to string) error { return f.fetch(ctx, to) })
}

func (f *files) copyOut(ctx context.Context) (time.Duration, error) {
	return f.out(func(to string) error {
		return cli(ctx, "cp", f.shard.name+":"+outDir+"/"+fileName, filepath.Join(to, fileName))
	})
}

// out times do, which brings the file into an empty folder here.
func (f *files) out(do func(to string) error) (time.Duration, error) {
	to, err := os.MkdirTemp(f.host, "out-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(to)
	took, err := timed(func() error { return do(to) })
	if err != nil {
		return 0, err
	}
	got, err := checksum(filepath.Join(to, fileName))
	if err == nil && got != f.sum {
		err = fmt.Errorf("the file came back with checksum %s, not %s", got, f.sum)
	}
	return took, err
}

// writeRandom makes a file of n random bytes and gives its SHA-256.
func writeRandom(name string, n int64) (string, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.CopyN(io.MultiWriter(f, h), rand.Reader, n)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

func checksum(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}
