// Package evidence keeps what shows how a trial went: copies of the app's own record, logs, pictures,
// each in a folder of the trial's own, redacted and described by its hash (contract §4.6). What is worth
// keeping, and when, is the client's to say.
package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/private"
	"github.com/berth-run/berth/session/client/rollout"
)

// Artifact is a file in the batch's evidence folder.
type Artifact struct {
	// Path is relative to the evidence folder.
	Path string `json:"path"`
	// SHA256 is the kept file's, in hex.
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// NoTree begins a file that says why there is no tree, in the place of one.
const NoTree = "no tree: "

// Folder is one trial's, made when the first file goes in.
type Folder struct {
	// Root is the batch's evidence folder.
	Root string
	// Name begins the folder's name; any text will do.
	Name   string
	Redact *redact.Set
	// Also, if not nil, is taken out besides: what is no secret, and another trial's or the user's own.
	Also *redact.Set

	dir  string
	kept []Artifact
}

// Kept are the files so far, in order.
func (f *Folder) Kept() []Artifact { return append([]Artifact{}, f.kept...) }

// Record copies the app's own record as it is on disk now.
func (f *Folder) Record(path string) (*Artifact, error) {
	src, err := openRecord(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return f.Text(client.RecordPrefix+filepath.Base(path), func(w io.Writer) error {
		n, err := io.Copy(w, io.LimitReader(src, rollout.MaxSize+1))
		if n > rollout.MaxSize {
			return rollout.ErrTooLarge
		}
		return err
	})
}

// openRecord opens a regular file of this user with a single link.
func openRecord(path string) (*os.File, error) {
	f, info, err := private.Open(path)
	if errors.Is(err, private.ErrNotPlain) {
		return nil, fmt.Errorf("%w: %s", rollout.ErrUnsafeFile, filepath.Base(path))
	}
	if err != nil {
		return nil, err
	}
	if !private.SingleLink(info) {
		f.Close()
		return nil, fmt.Errorf("%w: %s", rollout.ErrUnsafeFile, filepath.Base(path))
	}
	return f, nil
}

// Text writes a new file, redacted.
func (f *Folder) Text(name string, write func(io.Writer) error) (*Artifact, error) {
	return f.save(name, func(w io.Writer) error {
		also := f.Also.Writer(w)
		clean := f.Redact.Writer(also)
		return errors.Join(write(clean), clean.Close(), also.Close())
	})
}

// Raw writes a new file as it comes, such as a picture.
func (f *Folder) Raw(name string, write func(io.Writer) error) (*Artifact, error) {
	return f.save(name, write)
}

func (f *Folder) save(name string, write func(io.Writer) error) (_ *Artifact, err error) {
	if f.dir == "" {
		if f.dir, err = os.MkdirTemp(f.Root, segment(f.Name)+"-"); err != nil { // 0700
			return nil, err
		}
	}
	path := filepath.Join(f.dir, name)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	err = write(io.MultiWriter(file, sum))
	info, serr := file.Stat()
	if err = errors.Join(err, serr, file.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	rel, err := filepath.Rel(f.Root, path)
	if err != nil {
		return nil, err
	}
	a := Artifact{Path: rel, SHA256: hex.EncodeToString(sum.Sum(nil)), Bytes: info.Size()}
	f.kept = append(f.kept, a)
	return &a, nil
}

var unsafeInPath = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// segment makes any text part of a file name.
func segment(id string) string {
	s := unsafeInPath.ReplaceAllString(id, "_")
	if len(s) > 64 {
		s = s[:64]
	}
	if s == "" || s[0] == '.' {
		s = "case" + s
	}
	return s
}

// List describes what is kept in a batch's evidence folder, as far as it can be read.
func List(root string) []Artifact {
	all := []Artifact{}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() { // what can't be read isn't told of
			if a, err := describe(root, path); err == nil {
				all = append(all, a)
			}
		}
		return nil
	})
	return all
}

func describe(root, path string) (Artifact, error) {
	f, _, err := private.Open(path)
	if err != nil {
		return Artifact{}, err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return Artifact{}, err
	}
	rel, err := filepath.Rel(root, path)
	return Artifact{Path: rel, SHA256: hex.EncodeToString(sum.Sum(nil)), Bytes: n}, err
}
