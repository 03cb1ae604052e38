package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
)

// pluginLimit bounds each step of a plugin's set-up, which may fetch a Git repository.
const pluginLimit = 3 * time.Minute

// AddPlugins installs plugins into CODEX_HOME, one after the other.
func (c Codex) AddPlugins(ctx context.Context, all []client.Plugin) ([]client.InstalledPlugin, error) {
	installed := []client.InstalledPlugin{}
	for _, p := range all {
		one, err := c.addPlugin(ctx, p)
		if err != nil {
			return installed, code.Errorf(code.PluginSetupFailed, "plugin %s: %w", p.Name, err)
		}
		installed = append(installed, one)
	}
	return installed, nil
}

func (c Codex) addPlugin(ctx context.Context, p client.Plugin) (client.InstalledPlugin, error) {
	args := []string{"plugin", "marketplace", "add", "--json"}
	if p.Marketplace.Ref != "" && !p.Marketplace.Local() { // a local one is there already
		args = append(args, "--ref", p.Marketplace.Ref)
	}
	var market struct{ MarketplaceName string }
	err := c.pluginStep(ctx, &market, append(args, p.Marketplace.Source)...)
	if err == nil && !client.PluginName.MatchString(market.MarketplaceName) {
		err = errors.New("codex plugin marketplace add tells no name of the marketplace")
	}
	if err != nil {
		return client.InstalledPlugin{}, err
	}
	var added struct{ Version string }
	if err := c.pluginStep(ctx, &added, "plugin", "add", "--json", p.Name+"@"+market.MarketplaceName); err != nil {
		return client.InstalledPlugin{}, err
	}
	return client.InstalledPlugin{Name: p.Name, Marketplace: market.MarketplaceName, Version: added.Version, Ref: p.Marketplace.Ref}, nil
}

// pluginStep runs one command, whose stdout is a JSON object.
func (c Codex) pluginStep(ctx context.Context, answer any, args ...string) error {
	step := "codex " + strings.Join(args[:len(args)-1], " ")
	out, err := c.command(ctx, pluginLimit, "", args...)
	if err != nil {
		return fmt.Errorf("%s: %w%s", step, err, c.lastLine(out))
	}
	if err := json.NewDecoder(strings.NewReader(out)).Decode(answer); err != nil {
		return fmt.Errorf("%s: %w: %w", step, ErrAnswer, err)
	}
	return nil
}
