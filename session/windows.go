package session

import (
	"context"
	_ "embed"
	"io"
	"os"
	"path/filepath"

	"github.com/berth-run/berth/session/x11"
)

// windowRules make the window manager stay out of the way: new windows get the focus, a click gives
// it, and no key or desktop is the manager's own.
//
//go:embed openbox.xml
var windowRules []byte

func (s *Session) windowConfig() string { return s.cfg.runtime("session", "openbox.xml") }

func (s *Session) writeWindowConfig() error {
	path := s.windowConfig()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, windowRules, 0o600)
}

func windowsManaged(ctx context.Context, s *Session, _ io.Reader) error {
	d, err := x11.Open(ctx, s.cfg.display())
	if err != nil {
		return err
	}
	defer d.Close()
	return d.AwaitManager(ctx)
}
