package image

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// load finds a whole layer. ok is false when it isn't there, isn't of this input, or was damaged.
func (c *cache) load(name, input string) (e entry, ok bool) {
	b, err := os.ReadFile(c.key(name))
	if err != nil || json.Unmarshal(b, &e) != nil || e.Input != input {
		return entry{}, false
	}
	f, err := os.Open(c.blob(e.Digest))
	if err != nil {
		return entry{}, false
	}
	defer f.Close()
	digest, size, err := sumReader(f)
	return e, err == nil && digest == e.Digest && size == e.Size
}

// store makes a layer, with fill writing its tar, and gives it a name once it's whole. The layer
// that had the name before goes.
func (c *cache) store(ctx context.Context, name string, fill func(w io.Writer) (entry, error)) (entry, error) {
	f, err := os.CreateTemp(c.path("tmp"), "layer-")
	if err != nil {
		return entry{}, storageError(c.dir, err)
	}
	defer os.Remove(f.Name()) // gone already when it was renamed
	defer f.Close()
	h := newSum(ctxWriter{ctx, f})
	e, err := fill(h)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return entry{}, storageError(c.dir, err)
	}
	e.Digest, e.Size = h.digest(), h.n
	if err := os.Rename(f.Name(), c.blob(e.Digest)); err != nil {
		return entry{}, err
	}
	return e, c.name(name, e)
}

// name writes the key file of e, and removes the blob that it used to name.
func (c *cache) name(name string, e entry) error {
	var old entry
	if b, err := os.ReadFile(c.key(name)); err == nil {
		_ = json.Unmarshal(b, &old) // a key file that can't be read names nothing
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	tmp := c.path("tmp", name)
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		os.Remove(tmp)
		return storageError(c.dir, err)
	}
	if err := os.Rename(tmp, c.key(name)); err != nil {
		return err
	}
	return c.prune(old.Digest)
}

// prune removes a blob that no key names.
func (c *cache) prune(digest string) error {
	if digest == "" {
		return nil
	}
	keys, err := filepath.Glob(c.key("*"))
	if err != nil {
		return err
	}
	for _, k := range keys {
		var e entry
		if b, err := os.ReadFile(k); err == nil && json.Unmarshal(b, &e) == nil && e.Digest == digest {
			return nil
		}
	}
	if err := os.Remove(c.blob(digest)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
