package chatgpt

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/options"
	"github.com/berth-run/berth/session/client/rollout"
)

// Efforts are the reasoning efforts of contract §1.2.
var Efforts = []string{"low", "medium", "high", "xhigh", "max", "ultra"}

const (
	exactPrompt      = "exact_prompt"
	promptMarker     = "prompt_marker" // is added to every prompt; for finding out, not for measuring
	maxNativeActions = 64
)

// Settings are a variant's clientOptions for this client (contract §1.2).
type Settings struct {
	options.Common
	// Surface is the app's mode; "" is driver.Work.
	Surface driver.Surface `json:"surface"`
	// Actions is how often the app may be acted on for one prompt, 0 for the driver's own bound.
	Actions     int             `json:"nativeMaxActions"`
	Provider    string          `json:"provider"`
	Correlation string          `json:"correlation"`
	ConfigPath  string          `json:"configPath"`
	Plugins     []client.Plugin `json:"plugins"`
}

// ParseSettings reads clientOptions strictly. Errors name the key and what it may be.
func ParseSettings(raw json.RawMessage) (Settings, error) {
	var s Settings
	err := options.Decode(raw, &s, Name, "reasoningEffort, timeout, requireMcpCalls, env, surface, nativeMaxActions, provider, correlation, configPath and plugins")
	if err != nil {
		return s, code.Errorf(code.EnvironmentInvalid, "%w", err)
	}
	if s.Surface == "" {
		s.Surface = driver.Work
	}
	if err := client.CheckPlugins(s.Plugins); err != nil {
		return s, code.Errorf(code.PluginSetupFailed, "%w", err)
	}
	if err := errors.Join(s.Check(Efforts, isReserved), s.check()); err != nil {
		return s, code.Errorf(code.EnvironmentInvalid, "%w", err)
	}
	return s, nil
}

func (s Settings) check() error {
	if s.Actions < 0 || s.Actions > maxNativeActions {
		return fmt.Errorf("clientOptions.nativeMaxActions: %d isn't between 1 and %d", s.Actions, maxNativeActions)
	}
	if s.ConfigPath != "" && !strings.HasSuffix(s.ConfigPath, "/.codex/config.toml") {
		return errors.New("clientOptions.configPath: on Linux it can only be $HOME/.codex/config.toml; take it out")
	}
	return errors.Join(
		options.OneOf("surface", string(s.Surface), string(driver.Work), string(driver.Codex)),
		options.OneOf("provider", s.Provider, "openai"),
		options.OneOf("correlation", s.Correlation, exactPrompt, promptMarker),
	)
}

// originator is by whose name the app's Codex records a session on a surface (contract §4.5).
func originator(s driver.Surface) string {
	if s == driver.Codex {
		return "Codex Desktop"
	}
	return "codex_work_desktop"
}

// matches are the ways in which the app may change a prompt (contract §4.5).
var matches = []rollout.Match{rollout.MatchExact, rollout.MatchTerminalLF, rollout.MatchMarkdownEscaped}
