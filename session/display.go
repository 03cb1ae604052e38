package session

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/berth-run/berth/session/x11"
)

// socketDir is where X servers listen, by convention (xtrans).
const socketDir = "/tmp/.X11-unix"

// keymap is the display's, in as few words as will do: the server compiles it before it makes its screen,
// and a session waits for that.
//
//go:embed keymap/*/*
var keymap embed.FS

func (s *Session) keymapDir() string { return s.cfg.runtime("session", "keymap") }

func (s *Session) prepareDisplay() error {
	return errors.Join(s.makeSocketDir(), s.writeKeymap())
}

func (s *Session) writeKeymap() error {
	files, err := fs.Sub(keymap, "keymap")
	if err != nil {
		return err
	}
	dir := s.keymapDir()
	if err := os.RemoveAll(dir); err != nil { // of a session before
		return err
	}
	return os.CopyFS(dir, files)
}

// makeSocketDir: Xvfb as an ordinary user won't make its folder with the sticky bit by itself. In an
// image /tmp is a tmpfs, so that what was there at build time isn't any more.
func (s *Session) makeSocketDir() error {
	err := os.Mkdir(socketDir, 0o700)
	if os.IsExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(socketDir, 0o777|os.ModeSticky)
}

func displayListens(ctx context.Context, s *Session, _ io.Reader) error {
	return awaitSocket(ctx, s.cfg.displaySocket(), s.parts["display"].proc.PID())
}

// screenAnswers waits for the display's greeting, which comes when its screen is made.
func screenAnswers(ctx context.Context, s *Session, _ io.Reader) error {
	d, err := x11.Open(ctx, s.cfg.display())
	if err != nil {
		return err
	}
	defer d.Close()
	if w, h := d.Size(); w != s.cfg.Width || h != s.cfg.Height {
		return fmt.Errorf("the screen is %dx%d, want %dx%d", w, h, s.cfg.Width, s.cfg.Height)
	}
	return nil
}
