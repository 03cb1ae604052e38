package codex

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/rollout"
)

// artifact is a file in the batch's evidence folder.
type artifact struct {
	// Path is relative to the evidence folder.
	Path string `json:"path"`
	// SHA256 is the kept file's, in hex.
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// evidence is what is kept of one trial (contract §4.6).
type evidence struct {
	Rollout *artifact
	Log     *artifact
}

func (e *evidence) artifacts() []artifact {
	all := []artifact{}
	for _, a := range []*artifact{e.Rollout, e.Log} {
		if a != nil {
			all = append(all, *a)
		}
	}
	return all
}

// keep copies the matched record and, for a failed trial, the end of Codex's log into a folder of the
// trial's own.
func (r *run) keep(failed bool) error {
	if r.bound == nil && (!failed || r.app == nil) {
		return nil
	}
	dir, err := os.MkdirTemp(r.s.batch.EvidenceDir, segment(r.trial.CaseID)+"-") // 0700
	if err != nil {
		return err
	}
	r.evidence = &evidence{}
	if r.bound != nil {
		if r.evidence.Rollout, err = r.keepRollout(dir); err != nil {
			return err
		}
	}
	if failed && r.app != nil {
		r.evidence.Log, err = r.save(filepath.Join(dir, "codex-app-server.log"), func(w io.Writer) error {
			_, err := io.WriteString(w, r.app.proc.Stderr())
			return err
		})
	}
	return err
}

// keepRollout copies the record as it is on disk now.
func (r *run) keepRollout(dir string) (*artifact, error) {
	path := r.bound.Rollout.Path()
	src, err := openRecord(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return r.save(filepath.Join(dir, client.RecordPrefix+filepath.Base(path)), func(w io.Writer) error {
		n, err := io.Copy(w, io.LimitReader(src, rollout.MaxSize+1))
		if n > rollout.MaxSize {
			return rollout.ErrTooLarge
		}
		return err
	})
}

// openRecord opens a regular file of this user with a single link.
func openRecord(path string) (*os.File, error) {
	f, info, err := openPlain(path)
	if errors.Is(err, errNotPlain) {
		return nil, fmt.Errorf("%w: %s", rollout.ErrUnsafeFile, filepath.Base(path))
	}
	if err != nil {
		return nil, err
	}
	if info.Sys().(*syscall.Stat_t).Nlink != 1 {
		f.Close()
		return nil, fmt.Errorf("%w: %s", rollout.ErrUnsafeFile, filepath.Base(path))
	}
	return f, nil
}

// save writes a new file, redacted, and describes it.
func (r *run) save(path string, write func(io.Writer) error) (*artifact, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	clean := r.s.redact.Writer(io.MultiWriter(f, sum))
	err = errors.Join(write(clean), clean.Close())
	info, serr := f.Stat()
	if err = errors.Join(err, serr, f.Close()); err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(r.s.batch.EvidenceDir, path)
	return &artifact{Path: rel, SHA256: hex.EncodeToString(sum.Sum(nil)), Bytes: info.Size()}, err
}

var unsafeInPath = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// segment makes a case's id part of a file name.
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
