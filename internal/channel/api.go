// Package channel is the one link between the coordinator and a shard: a multiplexed session over
// the stdio of `berth-worker channel`, exec'd through the engine. Both ends are here, so that what
// one writes the other reads.
//
// The coordinator's end is Client; the worker's is Server. Every operation is a stream of its own
// that starts with one bounded JSON header. Messages (the mst.shard/v1 lines) go over a Log at each
// end: numbered, kept until acknowledged, replayed after a lost link, so none is lost and none comes
// twice. A generation number, raised by each Client that attaches, fences off an older one.
package channel

import (
	"context"
	"io"
	"net"

	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardproto"
)

// Opener runs `berth-worker channel` in the shard and gives its stdio. It's called again after a
// lost link. Closing the stream ends the exec.
type Opener func(ctx context.Context) (io.ReadWriteCloser, error)

// Shard is what the coordinator can do through a link; *Client is the one implementation. Every
// method waits while a lost link is being opened again (up to Options.ReopenFor) and then goes on
// or, where it can't be known whether it took effect, fails with ErrInterrupted.
type Shard interface {
	// SelfCheck runs the self-check of decision 4 in the shard.
	SelfCheck(ctx context.Context, e selfcheck.Expect) (selfcheck.Report, error)
	// Command runs a process in the shard as the worker's child.
	Command(ctx context.Context, c Command) (CommandResult, error)
	// Put unpacks a tar stream below dir, which must be in the bundle or results folder of oci.RunDir,
	// in oci.Home or in /tmp.
	Put(ctx context.Context, dir string, tar io.Reader) error
	// Get packs path (a file or a folder) as a tar stream.
	Get(ctx context.Context, path string, w io.Writer) error
	// WriteToken replaces a token file atomically (0600, in the tokens folder). The value is in no log.
	WriteToken(ctx context.Context, name string, value []byte) error
	// ProbeInference does GET <base>/models inside the shard, through the tunnel, with the token file.
	ProbeInference(ctx context.Context, p InferenceProbe) (InferenceReport, error)
	// Collect starts the bundle that Put placed in the bundle folder. Progress comes as messages.
	Collect(ctx context.Context) error
	// Send queues a message to the worker; it's delivered once, in order.
	Send(ctx context.Context, m shardproto.Message) error
	// Messages gives the worker's messages, once, in order; closed when the link is given up.
	Messages() <-chan shardproto.Message
	// Keep turns the dead man's switch off: the shard is to outlive its coordinator.
	Keep(ctx context.Context) error
	// Tunnel accepts the connections that processes in the shard make to the gateway's address.
	// It lives as long as the Client, across lost links.
	Tunnel() net.Listener
	// Shutdown asks the worker to end everything and exit with 0, then closes the link.
	Shutdown(ctx context.Context) error
	// Err is why the link was given up, nil while it's alive or after Close.
	Err() error
	Close() error
}

// Command is one process in the shard.
type Command struct {
	Args   []string  `json:"args"`
	Env    []string  `json:"env,omitempty"`
	Dir    string    `json:"dir,omitempty"`
	Stdin  io.Reader `json:"-"`
	Stdout io.Writer `json:"-"`
	Stderr io.Writer `json:"-"`
}

// CommandResult is how it ended: 128+n for a signal, 126 and 127 as a shell has them.
type CommandResult struct {
	Code int `json:"code"`
}

// InferenceProbe is what ProbeInference asks.
type InferenceProbe struct {
	// Path below the tunnel's address, "/v1/models" for a base URL that ends in /v1.
	Path string `json:"path"`
	// Token names the token file to send as bearer.
	Token string `json:"token"`
}

// InferenceReport is the gateway's answer as seen in the shard.
type InferenceReport struct {
	// Status is the HTTP status, 0 when there was no answer.
	Status int `json:"status"`
	// Phase is where it failed: tunnel, dns, connect, tls, status, body; "" for success.
	Phase  string   `json:"phase,omitempty"`
	Detail string   `json:"detail,omitempty"`
	Models []string `json:"models"`
}

// TunnelAddr is the gateway's address inside every shard.
const TunnelAddr = "127.0.0.1:4180"

const tunnelPort = 4180

// Names of token files, below the tokens folder.
const TokenInference = "inference"
