package podman

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/blang/semver/v4"
	"github.com/containers/podman/v5/pkg/bindings"

	"github.com/berth-run/berth/backends"
)

// apiVersion is the newest that this package was written against. Podman answers an older server's
// best to a path of a newer version, 4.3 included.
const apiVersion = "5.8.3"

// bulkBuffer is large because what isn't JSON is a tar stream.
const bulkBuffer = 256 << 10

// maxErrorBody bounds what is read of an error's body.
const maxErrorBody = 64 << 10

// answerWithin bounds a request that Podman answers at once, even on a busy machine: not an image on
// its way, and not the wait for a shard's end.
const answerWithin = 2 * time.Minute

// client is a connection to libpod's API. It's the bindings' connection, without its DoRequest: that
// one sends a failed request again, up to three times, with sleeps between, even a POST and even
// after the context has ended.
type client struct {
	conn *bindings.Connection
	base string
	// version is the server's.
	version semver.Version
	// revive, if set, starts an engine again that couldn't be dialed.
	revive func(context.Context) error
}

func newClient(conn *bindings.Connection, version semver.Version) *client {
	base := "http://d"
	if conn.URI.Scheme == "tcp" {
		base = "http://" + conn.URI.Host + conn.URI.Path
	}
	if t, ok := conn.Client.Transport.(*http.Transport); ok {
		// A run has a connection in use per shard and more; the default of 2 dials anew all the time.
		t.MaxIdleConnsPerHost = 16
	}
	return &client{conn: conn, version: version, base: base + "/v" + apiVersion + "/libpod"}
}

func (c *client) close() { c.conn.Client.CloseIdleConnections() }

// route fills the verbs of format with escaped segments.
func route(format string, segments ...string) string {
	args := make([]any, len(segments))
	for i, s := range segments {
		args[i] = url.PathEscape(s)
	}
	return fmt.Sprintf(format, args...)
}

func (c *client) get(ctx context.Context, path string, q url.Values, out any) error {
	return c.do(ctx, http.MethodGet, path, q, nil, out)
}

func (c *client) post(ctx context.Context, path string, q url.Values, in, out any) error {
	return c.do(ctx, http.MethodPost, path, q, in, out)
}

func (c *client) delete(ctx context.Context, path string, q url.Values, out any) error {
	return c.do(ctx, http.MethodDelete, path, q, nil, out)
}

// do sends in (nil, an io.Reader as it is, else as JSON) and reads the answer into out (nil to drop
// it, an io.Writer as it is, else as JSON). A status of 400 and over is an *apiError; 304 is no error.
// What can be sent again is, while Podman's database is locked.
func (c *client) do(ctx context.Context, method, path string, q url.Values, in, out any) error {
	_, upload := in.(io.Reader)
	_, download := out.(io.Writer)
	if !upload && !download && !strings.HasSuffix(path, "/wait") {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, answerWithin,
			fmt.Errorf("%w: podman: %s %s: no answer within %s; see whether `podman info` gets one", backends.ErrUnavailable, method, path, answerWithin))
		defer cancel()
	}
	once := func() error { return c.send(ctx, method, path, q, in, out) }
	if upload {
		return once()
	}
	return retryLocked(ctx, once)
}

func (c *client) send(ctx context.Context, method, path string, q url.Values, in, out any) error {
	resp, err := c.exchange(ctx, method, path, q, in)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("podman: %s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		return readError(method, path, resp)
	}
	if out == nil || resp.StatusCode == http.StatusNoContent {
		_, err := io.Copy(io.Discard, resp.Body)
		return err
	}
	if err := receive(resp.Body, out); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("podman: %s %s: reading the answer: %w", method, path, err)
	}
	return nil
}

// exchange sends a request and gives the answer, of an engine that is started again where it has to be.
func (c *client) exchange(ctx context.Context, method, path string, q url.Values, in any) (*http.Response, error) {
	req, err := c.request(ctx, method, path, q, in)
	if err != nil {
		return nil, err
	}
	resp, err := c.conn.Client.Do(req)
	_, upload := in.(io.Reader)
	again := undialed(err) && !upload || hungUp(err) && method == http.MethodGet
	if !again || c.revive == nil {
		return resp, err
	}
	if err := c.revive(ctx); err != nil {
		return nil, err
	}
	if req, err = c.request(ctx, method, path, q, in); err != nil {
		return nil, err
	}
	return c.conn.Client.Do(req)
}

func receive(body io.Reader, out any) error {
	if w, ok := out.(io.Writer); ok {
		// The structs hide ReadFrom and WriteTo, which would choose smaller buffers.
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{body}, make([]byte, bulkBuffer))
		return err
	}
	return json.NewDecoder(body).Decode(out)
}

func (c *client) request(ctx context.Context, method, path string, q url.Values, in any) (*http.Request, error) {
	var body io.Reader
	contentType := "application/json"
	switch v := in.(type) {
	case nil:
	case io.Reader:
		body, contentType = v, "application/x-tar"
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	req.URL.RawQuery = q.Encode()
	if in != nil {
		req.Header.Set("Content-Type", contentType)
	}
	return req, nil
}

// dial opens a connection of its own, for a request that takes it over.
func (c *client) dial(ctx context.Context) (net.Conn, error) {
	conn, err := c.conn.GetDialer(ctx)
	if undialed(err) && c.revive != nil {
		if err = c.revive(ctx); err == nil {
			conn, err = c.conn.GetDialer(ctx)
		}
	}
	return conn, err
}

// hungUp tells that an engine ended under a request, of which it isn't known whether it took effect.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// undialed tells that nobody listens any more: nothing was sent.
func undialed(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}

func readError(method, path string, resp *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return fmt.Errorf("podman: %s %s: %s: %w", method, path, resp.Status, err)
	}
	var e struct {
		Cause   string `json:"cause"`
		Message string `json:"message"`
	}
	if json.Unmarshal(b, &e) != nil || e.Message == "" {
		e.Message = strings.TrimSpace(string(b))
	}
	return &apiError{status: resp.StatusCode, cause: e.Cause, message: e.Message}
}
