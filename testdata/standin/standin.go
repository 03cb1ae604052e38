// Package standin holds the files of the stand-in for the ChatGPT desktop app: its page and its labels.
// The labels are written down from docs of the real app (26.915.31945, English) and nobody but the
// stand-in reads them, so that a driver which passes has its own right.
package standin

import "embed"

// Files are labels.json and page/.
//
//go:embed labels.json page
var Files embed.FS
