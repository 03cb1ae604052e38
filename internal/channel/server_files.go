package channel

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/berth-run/berth/internal/channel/archive"
	"github.com/hashicorp/yamux"
)

// folder opens the folder that a request's path is in, and gives the rest of the path.
func (s *Server) folder(name string) (*os.Root, string, error) {
	for prefix, dir := range s.opts.Folders {
		rest, ok := strings.CutPrefix(path.Clean(name), prefix)
		if !ok || (rest != "" && rest[0] != '/') {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, "", fmt.Errorf("%w: %w", ErrFailed, err)
		}
		return root, path.Join(".", rest), nil
	}
	return nil, "", fmt.Errorf("%w: %.200q is in none of the worker's folders", ErrInvalid, name)
}

// put unpacks beside the folder and moves in what is complete.
func (s *Server) put(dir string, r io.Reader) error {
	root, rel, err := s.folder(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	stage := stagePrefix + rand.Text()
	if err := root.Mkdir(stage, 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	defer func() { _ = root.RemoveAll(stage) }() // in a tmpfs, which goes with the shard
	if err := unpackInto(root, stage, r); err != nil {
		return err
	}
	if err := moveAll(root, stage, rel); err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return nil
}

func unpackInto(root *os.Root, dir string, r io.Reader) error {
	sub, err := root.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	defer sub.Close()
	if err := archive.Unpack(sub, r, archive.Limits{}); err != nil {
		if errors.Is(err, archive.ErrHostile) || errors.Is(err, archive.ErrTooLarge) {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	// Only the end frame tells a whole stream from one that was cut between two entries.
	if n, err := r.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		return fmt.Errorf("%w: tar stream has no end", ErrInvalid)
	}
	return nil
}

// moveAll moves from's entries into to. One that is in the way is moved back, where it's removed
// with from.
func moveAll(root *os.Root, from, to string) error {
	if err := root.MkdirAll(to, 0o700); err != nil {
		return err
	}
	entries, err := fs.ReadDir(root.FS(), from)
	if err != nil {
		return err
	}
	old := path.Join(from, ".old-"+rand.Text())
	if err := root.Mkdir(old, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		target := path.Join(to, e.Name())
		if err := move(root, target, path.Join(old, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := move(root, path.Join(from, e.Name()), target); err != nil {
			return err
		}
	}
	return nil
}

// move renames, also a folder that its owner may not write to: its parent is an entry of it.
func move(root *os.Root, from, to string) error {
	info, err := root.Lstat(from)
	if err != nil {
		return err
	}
	locked := info.IsDir() && info.Mode()&0o200 == 0
	if locked {
		if err := root.Chmod(from, info.Mode()|0o200); err != nil {
			return err
		}
	}
	if err := root.Rename(from, to); err != nil || !locked {
		return err
	}
	return root.Chmod(to, info.Mode())
}

// get packs a file or folder; what it can't read becomes a reply in the place of the end.
func (s *Server) get(stream *yamux.Stream, name string) {
	root, rel, err := s.folder(name)
	if err != nil {
		writeReply(stream, nil, err)
		return
	}
	defer root.Close()
	w := bufio.NewWriterSize(struct{ io.Writer }{newFrameWriter(stream, kindData, dataMax)}, dataMax)
	err = archive.Pack(w, root, rel)
	if err == nil || errors.Is(err, archive.ErrLeftOut) {
		err = errors.Join(w.Flush(), err)
	}
	if err != nil {
		writeReply(stream, nil, fmt.Errorf("%w: %w", ErrFailed, err))
		return
	}
	writeFrame(stream, kindEnd, nil)
}

// token reads a token's value, one data frame, and writes its file.
func (s *Server) token(name string, r io.Reader) error {
	k, n, err := readHead(r)
	if err != nil {
		return err
	}
	if k != kindData || n == 0 || n > tokenMax {
		return fmt.Errorf("%w: token %.40q: 1 to %d bytes are taken", ErrInvalid, name, tokenMax)
	}
	value := make([]byte, n)
	if _, err := io.ReadFull(r, value); err != nil {
		return err
	}
	return WriteTokenFile(s.opts.TokensDir, name, value)
}

// tokenName is what token names and server labels may be: no path.
func tokenName(name string) bool {
	if name == "" || len(name) > 128 || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "_") {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	})
}

// WriteTokenFile replaces the file name in dir, which it makes 0700 if it isn't there. The file is
// 0600 and never seen half written. Errors don't hold the value.
func WriteTokenFile(dir, name string, value []byte) error {
	if !tokenName(name) {
		return fmt.Errorf("%w: token name %.40q", ErrInvalid, name)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	f, err := os.CreateTemp(dir, ".token-*") // 0600
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	_, err = f.Write(value)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("%w: write token %s: %w", ErrFailed, name, err)
	}
	return nil
}
