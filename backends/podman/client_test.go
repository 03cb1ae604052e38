package podman

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/blang/semver/v4"
	"github.com/containers/podman/v5/pkg/bindings"

	"github.com/berth-run/berth/backends"
)

// TestNoAnswer: an engine that takes a request and never answers ends it, with what to look at.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var far []net.Conn
		defer func() {
			for _, c := range far {
				c.Close()
			}
		}()
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, f := net.Pipe()
			far = append(far, f)
			go func() {
				for b := make([]byte, 1024); ; {
					if _, err := f.Read(b); err != nil {
						return
					}
				}
			}()
			return near, nil
		}}
		defer transport.CloseIdleConnections()
		conn := &bindings.Connection{URI: &url.URL{Scheme: "unix"}, Client: &http.Client{Transport: transport}}
		err := newClient(conn, semver.Version{}).get(t.Context(), "/info", nil, &hostInfo{})
		if !errors.Is(err, backends.ErrUnavailable) || !strings.Contains(err.Error(), "GET /info: no answer within 2m0s") {
			t.Errorf("got %v", err)
		}
	})
}
