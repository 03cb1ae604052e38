// Package version holds the one version that the coordinator and the worker share: a worker of
// another version is refused before any prompt.
package version

// Version is berth's release, as in `berth version`, the image's labels and the run record.
const Version = "0.1.0"
