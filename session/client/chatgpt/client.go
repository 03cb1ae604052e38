package chatgpt

import (
	"context"
	"errors"
	"os"
	"regexp"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/codexconfig"
	"github.com/berth-run/berth/session/client/engine"
	"github.com/berth-run/berth/session/client/private"
)

// Client drives the ChatGPT app. It implements client.Client.
type Client struct {
	opts    Options
	desktop func(context.Context) (desktop, error)
	window  func(context.Context, driver.Options) (window, error)
	keyring secrets
}

var _ client.Client = (*Client)(nil)

// New makes a client; nothing is started or looked at before Open.
func New(o Options) *Client {
	return &Client{opts: o.orDefault(), desktop: desktopOf(o.Desktop), window: openWindow, keyring: loginKeyring}
}

// Info names the app. It has no version that could be asked without starting it; the engine's is in
// every record.
func (c *Client) Info(context.Context) (client.Info, error) {
	info := client.Info{Name: Name}
	return info, checkProgram(c.opts.AppPath)
}

var modelPattern = regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)

// CheckBatch checks what a variant asks for, without looking at the machine.
func CheckBatch(b client.Batch) (Settings, error) {
	s, err := ParseSettings(b.Options)
	if err != nil {
		return s, err
	}
	if !modelPattern.MatchString(b.Model) {
		return s, code.Errorf(code.EnvironmentInvalid, "model %q: %s needs one, of letters, digits and . _ : -", b.Model, Name)
	}
	if err := codexconfig.CheckServers(b.Servers); err != nil {
		return s, err
	}
	return s, codexconfig.CheckInference(b.Inference)
}

// Open readies a batch: settings, a fresh profile on the desktop, API key, MCP servers, the engine, and
// the app with its composer before it.
func (c *Client) Open(ctx context.Context, b client.Batch) (client.Session, error) {
	settings, err := CheckBatch(b)
	if err != nil {
		return nil, err
	}
	if err := c.checkMachine(b); err != nil {
		return nil, err
	}
	s := newBatch(c, b, settings)
	if s.own, err = readLimits(c.opts.LimitsFile, b.Variant); err != nil {
		return nil, err
	}
	if err := s.setUp(ctx); err != nil {
		s.keepUnready() // unless bringUp did
		err = errors.Join(s.clean(err), s.Close(context.WithoutCancel(ctx)))
		return nil, s.openError(err)
	}
	return s, nil
}

// checkMachine checks what doesn't depend on the desktop.
func (c *Client) checkMachine(b client.Batch) error {
	if err := client.RequireLinux(Name); err != nil {
		return err
	}
	named := map[string]string{
		"MST_CHATGPT_APP_PATH": c.opts.AppPath, "MST_CHATGPT_CODEX_PATH": c.opts.CodexPath, "MST_CHATGPT_EVIDENCE_DIR": b.EvidenceDir,
	}
	if b.Inference.Mode == client.ModeAPIKey {
		named["MST_CHATGPT_API_KEY_FILE"] = b.Inference.TokenFile
	}
	for name, value := range named {
		if err := checkPath(name, value); err != nil {
			return err
		}
	}
	if err := private.CheckDir(b.EvidenceDir); err != nil {
		return code.Errorf(code.EvidenceDirUnsafe, "%w", err)
	}
	if err := checkProgram(c.opts.AppPath); err != nil {
		return err
	}
	return engine.CheckPath(c.opts.CodexPath, Name)
}

func checkProgram(path string) error {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return code.Errorf(code.AppPathInvalid, "%s is no program; is this an image for %s?", path, Name)
	}
	return nil
}
