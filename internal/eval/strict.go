package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/berth-run/berth/image"
	"github.com/berth-run/berth/session/client/codexconfig"
)

// strictCheck has the image's Codex read, in strict mode, a config with every key that a trial's may
// have: a key that this Codex release no longer knows shows at set-up, not in a trial.
func strictCheck() *image.Check {
	config := codexconfig.Sample()
	sum := sha256.Sum256(config)
	return &image.Check{
		Key: hex.EncodeToString(sum[:]),
		Run: func(ctx context.Context, binary string) error { return image.CheckCodexConfig(ctx, binary, config) },
	}
}
