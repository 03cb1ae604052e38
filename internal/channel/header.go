package channel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/berth-run/berth/internal/selfcheck"
)

// protocol is the version of everything in this package that goes over the link.
const protocol = 2

// Operations, the coordinator's but for opTunnel.
const (
	opAttach    = "attach"
	opSelfCheck = "selfcheck"
	opCommand   = "command"
	opStdin     = "stdin"
	opPut       = "put"
	opGet       = "get"
	opStage     = "stage"
	opMeasure   = "measure"
	opToken     = "token"
	opProbe     = "probe-inference"
	opCollect   = "collect"
	opKeep      = "keep"
	opShutdown  = "shutdown"
	opTunnel    = "tunnel"
)

// header is a stream's first frame. Op says which of the other fields count.
type header struct {
	Op      string            `json:"op"`
	Attach  *attachRequest    `json:"attach,omitempty"`
	Expect  *selfcheck.Expect `json:"expect,omitempty"`
	Command *commandRequest   `json:"command,omitempty"`
	Probe   *InferenceProbe   `json:"probe,omitempty"`
	// ID names the command that a stdin stream belongs to.
	ID uint64 `json:"id,omitempty"`
	// Path is put's or stage's folder, or get's or measure's file or folder.
	Path string `json:"path,omitempty"`
	// Name is a token's; its value comes as a data frame, so that no header ever holds a secret.
	Name string `json:"name,omitempty"`
}

// attachRequest makes a link the shard's one link.
type attachRequest struct {
	Protocol int `json:"protocol"`
	// Lease is the coordinator's identity, random; Generation counts its links.
	Lease      string `json:"lease"`
	Generation uint64 `json:"generation"`
	// Seen is the last message of the worker's that this coordinator has; nil before its first link.
	Seen *uint64 `json:"seen,omitempty"`
}

type attachReply struct {
	Version string `json:"version"`
	// Start is the number before the first message this lease will see.
	Start uint64 `json:"start"`
	// Seen is the last message of this lease's that the worker has.
	Seen uint64 `json:"seen"`
}

type commandRequest struct {
	Command
	// Stdin: a stdin stream follows once the command has been answered.
	Stdin bool `json:"stdin,omitempty"`
}

// reply answers a header. Kind is a key of wireErrors.
type reply struct {
	Kind   string          `json:"kind,omitempty"`
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

func writeHeader(w io.Writer, h header) error {
	b, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return writeFrame(w, kindHeader, b)
}

// readHeader reads a stream's first frame. An unknown field is an error: both ends are one release.
func readHeader(r io.Reader) (header, error) {
	k, n, err := readHead(r)
	if err != nil {
		return header{}, err
	}
	if k != kindHeader {
		return header{}, fmt.Errorf("%w: a stream that starts with a frame %q", ErrProtocol, byte(k))
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		return header{}, unexpected(err)
	}
	return parseHeader(payload)
}

func parseHeader(b []byte) (header, error) {
	var h header
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return header{}, fmt.Errorf("%w: header: %w", ErrProtocol, err)
	}
	if d.More() {
		return header{}, fmt.Errorf("%w: more than one header", ErrProtocol)
	}
	return h, nil
}

// writeReply sends err, or result where that is nil.
func writeReply(w io.Writer, result any, err error) error {
	var p reply
	if err != nil {
		p.Kind, p.Error = wireKind(err), err.Error()
	} else if result != nil {
		if p.Result, err = json.Marshal(result); err != nil {
			return err
		}
	}
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return writeFrame(w, kindReply, b)
}

func wireKind(err error) string {
	for kind, sentinel := range wireErrors {
		if errors.Is(err, sentinel) {
			return kind
		}
	}
	return "failed"
}

// readReply reads a reply into result, which may be nil, or gives the other end's error.
func readReply(r io.Reader, result any) error {
	k, payload, err := readFrame(r)
	if err != nil {
		return unexpected(err)
	}
	if k != kindReply {
		return fmt.Errorf("%w: frame %q in place of a reply", ErrProtocol, byte(k))
	}
	return parseReply(payload, result)
}

func parseReply(b []byte, result any) error {
	var p reply
	if err := json.Unmarshal(b, &p); err != nil {
		return fmt.Errorf("%w: reply: %w", ErrProtocol, err)
	}
	if p.Error != "" || p.Kind != "" {
		return &remoteError{class: wireErrors[p.Kind], text: p.Error}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(p.Result, result); err != nil {
		return fmt.Errorf("%w: reply: %w", ErrProtocol, err)
	}
	return nil
}

// remoteError is what the other end answered: its words, which already name the class.
type remoteError struct {
	class error
	text  string
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error {
	if e.class == nil {
		return ErrFailed
	}
	return e.class
}
