package image

import (
	"slices"
	"testing"
)

// TestHelpersGetNoCredential: npm, mmdebstrap and what they start have no business with a model.
func TestHelpersGetNoCredential(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "key")
	t.Setenv("MST_LLM_AUTH_COMMAND", "echo key")
	t.Setenv("NPM_TOKEN", "npm's own")
	env := (&cache{}).command(t.Context(), "npm").Env
	for e, want := range map[string]bool{"OPENAI_API_KEY=key": false, "MST_LLM_AUTH_COMMAND=echo key": false, "NPM_TOKEN=npm's own": true} {
		if got := slices.Contains(env, e); got != want {
			t.Errorf("%s: %v, want %v", e, got, want)
		}
	}
}
