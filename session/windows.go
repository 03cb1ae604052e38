package session

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"os"

	"github.com/berth-run/berth/session/x11"
)

// windowRules make the window manager stay out of the way: new windows get the focus, a click gives
// it, and no key or desktop is the manager's own.
//
//go:embed openbox.xml
var windowRules []byte

// windowFonts let it write titles in whatever font there is, without the files about which is best.
//
//go:embed fonts.xml
var windowFonts []byte

func (s *Session) windowConfig() string { return s.cfg.runtime("session", "openbox.xml") }
func (s *Session) fontConfig() string   { return s.cfg.runtime("session", "fonts.xml") }

func (s *Session) writeWindowConfig() error {
	if err := os.MkdirAll(s.cfg.runtime("session"), 0o700); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(s.windowConfig(), windowRules, 0o600), os.WriteFile(s.fontConfig(), windowFonts, 0o600))
}

// windowEnv makes the window manager's start quick: it is what a session waits for the longest. It types
// nothing, so it needn't read the tables of composed characters (titles come to it in UTF-8 anyway); and
// its own pointers may be the display's, and not a theme's, some of which move.
func windowEnv(s *Session) []string {
	return []string{"LC_ALL=C", "XCURSOR_PATH=/nonexistent", "FONTCONFIG_FILE=" + s.fontConfig()}
}

func windowsManaged(ctx context.Context, s *Session, _ io.Reader) error {
	d, err := x11.Open(ctx, s.cfg.display())
	if err != nil {
		return err
	}
	defer d.Close()
	return d.AwaitManager(ctx)
}
