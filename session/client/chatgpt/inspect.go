package chatgpt

import (
	"context"
	"errors"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
)

// nowhere is a gateway that no app reaches: who inspects one sends nothing.
const nowhere = "http://127.0.0.1:9/v1"

// Inspect starts the app in a fresh profile of its own, with no way to a model and no MCP servers, and
// sees what of the driver's table it still shows. An error means that it didn't come to that; what the
// app did or didn't show is in the Inspection. If it came to its composer, the state that it has then is
// written to the folder save, unless that is "".
func (c *Client) Inspect(ctx context.Context, surface driver.Surface, save string) (_ driver.Inspection, err error) {
	if err := checkProgram(c.opts.AppPath); err != nil {
		return driver.Inspection{}, err
	}
	s := newBatch(c, client.Batch{
		Model: "none", Inference: client.Inference{Mode: client.ModeGateway, BaseURL: nowhere, TokenFile: "/dev/null"},
	}, Settings{Surface: surface})
	if s.own, err = readLimits(c.opts.LimitsFile, ""); err != nil {
		return driver.Inspection{}, err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	if err := s.enter(ctx); err != nil {
		return driver.Inspection{}, s.clean(err)
	}
	if err := s.configure(); err != nil {
		return driver.Inspection{}, s.clean(err)
	}
	if err := s.startApp(ctx); err != nil {
		return driver.Inspection{}, s.clean(err)
	}
	found, err := s.inspect(ctx)
	if err != nil || !found.Ready || save == "" {
		return found, err
	}
	return found, errors.Join(s.stopApp(ctx), s.saveState(save))
}

// inspect has the window inspected, unless the app, the desktop or the keyring is lost on the way.
func (s *batch) inspect(ctx context.Context) (driver.Inspection, error) {
	within, cancel := s.app.with(ctx)
	defer cancel()
	within, unwatch := s.watchKeyring(within)
	defer unwatch()
	found := s.app.window.Inspect(within, s.settings.Surface)
	if err := s.app.because(within, within.Err()); err != nil && !found.Ready {
		found.Code, found.Error = code.Of(err), s.redact.String(code.Detail(err))
	}
	return found, ctx.Err()
}
