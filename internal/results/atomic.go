package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// writeJSON replaces path by v whole: a reader, or a crash, sees the old file or the new one. The
// folder is synced too, so that a finished trial survives a power cut.
func writeJSON(path string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return WriteFile(path, b.Bytes())
}

// WriteFile is writeJSON for bytes. Missing folders are made.
func WriteFile(path string, data []byte) error {
	if err := replace(path, data); err != nil {
		return diskError(path, err)
	}
	return nil
}

func replace(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return err
	}
	if err := fill(tmp, data); err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncDir(dir)
}

func fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) {
		// Some file systems can't sync a folder; the file itself is.
		err = nil
	}
	return errors.Join(err, d.Close())
}

func diskError(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: can't write %s; make room, then `berth run --resume` collects what is missing (%w)", ErrDiskFull, path, err)
	}
	return fmt.Errorf("can't write %s: %w", path, err)
}

// readJSON reads a file of one kind.
func readJSON(path, kind string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var e Envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("%s: %w: %w", path, ErrFormat, err)
	}
	if e.Format != Format || e.Kind != kind {
		return fmt.Errorf("%s: %w: it is %s %s, not %s", path, ErrFormat, e.Format, e.Kind, kind)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w: %w", path, ErrFormat, err)
	}
	return nil
}
