package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/berth-run/berth/internal/channel/archive"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/withhold"
	"github.com/berth-run/berth/oci"
)

// evidenceMax is what the tmpfs holds that a shard's evidence comes from. Only a file with holes in it
// is longer, and an agent can make one of any length.
const evidenceMax = oci.RunBytes

// Evidence implements runner.Recorder: artifacts/shard-<n>/ gets what the shard's clients kept, a
// resumed run's goes beside it as shard-<n>.2. A redacted run keeps records and trees without what was answered.
// What a cut stream brought is kept too, but nothing of which secrets couldn't be taken out.
func (r *recorder) Evidence(shard int, tar io.Reader) error {
	artifacts, err := r.run.ArtifactsDir()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("shard-%d", shard)
	dir, err := os.MkdirTemp(artifacts, "."+name+"-") // hidden until it is complete
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	broken := archive.Unpack(root, tar, archive.Limits{Bytes: evidenceMax})
	if err := maskTree(root, r.secrets); err != nil {
		return also(fmt.Errorf("taking secrets out: %w", err), os.RemoveAll(dir))
	}
	if r.run.Record().Redacted {
		if err := withholdAnswers(root); err != nil {
			return also(fmt.Errorf("taking answers out: %w", err), os.RemoveAll(dir))
		}
	}
	return also(broken, place(dir, filepath.Join(artifacts, name)))
}

// withholdAnswers takes them out of the files that hold any as text.
func withholdAnswers(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rewrite := withhold.Responses(d.Name())
		switch {
		case rewrite == nil:
			return nil
		case !d.Type().IsRegular(): // only an agent can have put it there
			return root.Remove(name)
		}
		return rewriteFile(root, name, rewrite)
	})
}

func rewriteFile(root *os.Root, name string, rewrite func(io.Writer, io.Reader) error) error {
	body, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	var left bytes.Buffer
	if err := rewrite(&left, bytes.NewReader(body)); err != nil {
		return err
	}
	return root.WriteFile(name, left.Bytes(), 0o644)
}

// place moves a folder to its name, or to that with the first free number.
func place(dir, name string) error {
	err := os.Rename(dir, name)
	for n := 2; errors.Is(err, fs.ErrExist); n++ {
		err = os.Rename(dir, fmt.Sprintf("%s.%d", name, n))
	}
	return err
}

// maskTree takes known secrets out of the files below root. Those that hold none stay as their
// recorded checksums say. Modes are made fit to read by: a shard may have sent a folder that nobody
// may enter. What has a secret in its name is removed, since only an agent can have called it so.
func maskTree(root *os.Root, secrets *redact.Set) error {
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case secrets.String(name) != name:
			if err := root.RemoveAll(name); err != nil || !d.IsDir() {
				return err
			}
			return fs.SkipDir
		case d.IsDir():
			return root.Chmod(name, 0o755)
		case d.Type() == fs.ModeSymlink:
			return maskLink(root, name, secrets)
		}
		return maskFile(root, name, secrets)
	})
}

func maskLink(root *os.Root, name string, secrets *redact.Set) error {
	target, err := root.Readlink(name)
	if err != nil || secrets.String(target) == target {
		return err
	}
	return root.Remove(name)
}

func maskFile(root *os.Root, name string, secrets *redact.Set) error {
	if err := root.Chmod(name, 0o644); err != nil {
		return err
	}
	body, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	masked := secrets.Bytes(body)
	if bytes.Equal(masked, body) {
		return nil
	}
	return root.WriteFile(name, masked, 0o644)
}
