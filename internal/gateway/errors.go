package gateway

import "errors"

var (
	// ErrNoToken: the script rotates its token, and the gateway was given none.
	ErrNoToken = errors.New("the script rotates its token (token.rotateEvery), which needs a token file: add --token-file FILE")
	// ErrScript is in the chain of every fault found in a script; the text has its file, line and column.
	ErrScript = errors.New("gateway script")
	// ErrNotLoopback: the gateway serves on the loopback only.
	ErrNotLoopback = errors.New("the scripted gateway listens on the loopback only: use 127.0.0.1:PORT, [::1]:PORT or localhost:PORT")
)
