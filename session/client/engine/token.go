package engine

import (
	"io"
	"strings"

	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/private"
)

// maxToken is as long as the inference token may be, in bytes: the channel takes no longer one.
const maxToken = 64 << 10

// NoteToken adds the present inference token to what is redacted. It's renewed in place, so this is
// done again at every end of a trial.
func NoteToken(i client.Inference, set *redact.Set) {
	if i.Mode != client.ModeGateway {
		return
	}
	f, _, err := private.Open(i.TokenFile)
	if err != nil {
		return // it shows as the gateway's 401
	}
	defer f.Close()
	if b, err := io.ReadAll(io.LimitReader(f, maxToken)); err == nil {
		set.Add(strings.TrimSpace(string(b)))
	}
}
