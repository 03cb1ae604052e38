package driver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// stateLimit bounds the looking at an app that something failed with.
const stateLimit = 10 * time.Second

// draftState is what can be seen now; when the time is over or the app is gone, what was seen last.
// nil: nothing was.
func (r *run) draftState(ctx context.Context) *DraftState {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stateLimit)
	defer cancel()
	alive := false
	if r.app != nil {
		if t, err := r.app.Snapshot(ctx); err == nil {
			r.seen, alive = t, true
		}
	}
	if r.seen == nil || r.controls == nil {
		return nil
	}
	composers := r.controls.composers(r.seen)
	s := &DraftState{
		ComposerRootCount: len(composers),
		SendControlCount:  r.controls.Send.onScreen(r.seen),
		Screen:            r.controls.numbers(r.seen),
	}
	if on := r.controls.surfaces(r.seen); len(on) == 1 {
		s.ObservedSurface = on[0]
	}
	if !alive || len(composers) != 1 {
		return s
	}
	if text, err := r.app.Text(ctx, composers[0]); err == nil {
		s.describe(text)
	}
	if n, err := r.app.Embedded(ctx, composers[0]); err == nil {
		s.EmbeddedObjectCount = n
	}
	return s
}

func (s *DraftState) describe(text string) {
	sum := sha256.Sum256([]byte(text))
	s.TextReadable = true
	s.TextLength = utf8.RuneCountInString(text)
	s.TextSHA256 = hex.EncodeToString(sum[:])
	s.NewlineCount = strings.Count(text, "\n")
}

// count is "2 Send buttons, want one".
func count(n int, what string) string { return fmt.Sprintf("%d %s, want one", n, what) }
