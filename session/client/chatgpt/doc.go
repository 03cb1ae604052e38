// Package chatgpt is the client `chatgpt`: the ChatGPT desktop app with its embedded Codex, one fresh
// profile and one running app for each batch, one prompt at a time. A prompt is handed to the running
// app by a second start of it, seen in the composer and sent over accessibility (package driver), and
// what came of it is read from the rollout alone (package rollout): the screen is evidence.
//
// It brings up no desktop, knows no control of the app's window, and starts no inference gateway.
package chatgpt

// Name is the client's name in an eval config.
const Name = "chatgpt"

// Where a shard has the app, and where an app has its profile.
const (
	DefaultAppPath = "/usr/bin/chatgpt"
	DefaultHome    = "/home/berth/app"
)

// provider is what drives the app's window, as a trial's record calls it.
const provider = "linux-atspi"
