package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
)

// Check is run once for an app and a key, on the build machine.
type Check struct {
	// Key stands for what is checked, such as a hash of the config: another key runs it again.
	Key string
	// Run gets the app's binary, alone in a directory that it may write to.
	Run func(ctx context.Context, binary string) error
}

// check runs the recipe's check. A machine of another kind than the engine's can't run the app, and
// says so in an event.
func (b *build) check(ctx context.Context, s *stack) error {
	if b.opts.Check == nil || s.app == nil {
		return nil
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != b.plan.Arch {
		b.report.emit(Event{Step: StepCheck, Detail: "not run: the app doesn't run on this machine", Done: true})
		return nil
	}
	mark := b.cache.path("keys", "check-"+keyOf(s.app.hash.String(), b.opts.Check.Key))
	if _, err := os.Stat(mark); err == nil {
		b.report.emit(Event{Step: StepCheck, Cached: true, Done: true})
		return nil
	}
	dir, err := os.MkdirTemp(b.cache.path("tmp"), "check-")
	if err != nil {
		return storageError(b.cache.dir, err)
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, filepath.Base(b.plan.client.app.binary))
	if err := extractFile(ctx, s.app, b.plan.client.app.binary, binary); err != nil {
		return storageError(b.cache.dir, err)
	}
	if err := b.opts.Check.Run(ctx, binary); err != nil {
		return err
	}
	b.report.emit(Event{Step: StepCheck, Done: true})
	return storageError(b.cache.dir, os.WriteFile(mark, nil, 0o600))
}

// extractFile copies one file of a layer.
func extractFile(ctx context.Context, l *layer, name, to string) error {
	r, err := l.Uncompressed()
	if err != nil {
		return err
	}
	defer r.Close()
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if h.Name == name {
			break
		}
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(ctxWriter{ctx, f}, tr)
	return errors.Join(err, f.Close())
}

// CheckCodexConfig has a Codex binary read config (config.toml) in strict mode, which refuses keys
// that it doesn't know, wrong types, and settings that it no longer takes. Codex runs as its app
// server with nothing to serve, with a home of its own next to the binary: it contacts nobody.
func CheckCodexConfig(ctx context.Context, binary string, config []byte) error {
	home, err := os.MkdirTemp(filepath.Dir(binary), "codex-home-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), config, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, binary, "app-server", "--strict-config")
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "CODEX_HOME=" + home, "PATH=" + os.Getenv("PATH")}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := ended(ctx, cmd.Run()); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("%w: Codex refuses its config: %s (%w)", ErrCheck, codexComplaint(said.Bytes(), home), err)
	}
	return nil
}

var codexErrorLine = regexp.MustCompile(`(?m)^Error: (.+)$`)

// codexComplaint is Codex's error line with the place in config.toml, without its time stamps,
// colours and stack.
func codexComplaint(said []byte, home string) string {
	said = bytes.ReplaceAll(said, []byte(home+"/"), nil)
	if m := codexErrorLine.FindSubmatch(said); m != nil {
		return string(m[1])
	}
	return firstLine(said)
}
