// Package cause says why a trial most likely failed, from what was kept of it and from nothing else: the
// steps, the tree of the app's window, its log, a picture of the screen, Codex's record. It knows no code
// and no outcome, so that what it says is a second opinion on these. What the screens are called and which
// controls they have is the driver's table.
package cause
