package worker

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/shardproto"
)

// folders are the worker's own, below its tmpfs.
type folders struct {
	tokens, bundle, results string
}

// serverTokens is below the tokens folder: a server may have any label, also one that names another token.
const serverTokens = "servers"

func makeFolders(runDir string) (folders, error) {
	f := folders{
		tokens: filepath.Join(runDir, "tokens"), bundle: filepath.Join(runDir, "bundle"), results: filepath.Join(runDir, "results"),
	}
	for _, dir := range []string{f.tokens, f.bundle, f.results, f.evidence()} {
		if err := makePrivate(dir); err != nil {
			return folders{}, err
		}
	}
	return f, nil
}

// makePrivate makes a folder 0700, whatever the umask and whatever was there.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}

func (f folders) evidence() string { return filepath.Join(f.results, "evidence") }

// batchEvidence is the evidence of the batch with an index.
func (f folders) batchEvidence(i int) string { return filepath.Join(f.evidence(), fmt.Sprint(i)) }

// bundleMax bounds a bundle, which holds every prompt of the shard.
const bundleMax = 256 << 20

// readBundle reads the bundle that was put, and its identity.
func (f folders) readBundle() (shardproto.Bundle, [sha256.Size]byte, error) {
	var b shardproto.Bundle
	name := filepath.Join(f.bundle, shardproto.BundleFile)
	if info, err := os.Stat(name); err == nil && info.Size() > bundleMax {
		return b, [32]byte{}, fmt.Errorf("%w: bundle of %d bytes; %d is the most", channel.ErrInvalid, info.Size(), bundleMax)
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return b, [32]byte{}, fmt.Errorf("%w: %w", channel.ErrInvalid, err)
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return b, [32]byte{}, fmt.Errorf("%w: bundle: %w", channel.ErrInvalid, err)
	}
	if b.Format != shardproto.Format || b.Kind != shardproto.KindBundle {
		return b, [32]byte{}, fmt.Errorf("%w: bundle is %.40q of format %.40q", channel.ErrInvalid, b.Kind, b.Format)
	}
	return b, sha256.Sum256(raw), nil
}

// writeResult writes a result file under its final name only when it's whole. The path is relative
// to the results folder.
func (f folders) writeResult(batch, index int, r shardproto.ResultFile) (string, error) {
	name := filepath.Join(fmt.Sprint(batch), fmt.Sprint(index)+shardproto.ResultSuffix)
	raw, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(f.results, filepath.Dir(name))
	if err := makePrivate(dir); err != nil {
		return "", err
	}
	tmp, err := os.CreateTemp(dir, ".result-*")
	if err != nil {
		return "", err
	}
	_, err = tmp.Write(raw)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(f.results, name))
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return filepath.ToSlash(name), err
}

// removeTokens leaves no token behind.
func (f folders) removeTokens() error {
	if err := os.RemoveAll(f.tokens); err != nil {
		return fmt.Errorf("remove tokens: %w", err)
	}
	return nil
}
