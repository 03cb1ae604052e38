package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve answers on l until ctx ends; then it breaks what is open, and returns nil once the last
// request is in the log.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() {
		g.Close()
		srv.Close()
	})
	defer stop()
	err := srv.Serve(l)
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("gateway: %w", err)
	}
	g.open.Wait()
	return nil
}

// Start serves on addr ("127.0.0.1:0" for any free port), in the background, and gives the base URL
// for OPENAI_BASE_URL. close ends it and waits for that.
func (g *Gateway) Start(addr string) (baseURL string, close func() error, err error) {
	l, err := Listen(addr)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, l) }()
	return BaseURL(l), func() error {
		cancel()
		return <-done
	}, nil
}

// Listen opens a loopback address; any other is ErrNotLoopback.
func Listen(addr string) (net.Listener, error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if !tcp.IP.IsLoopback() {
		return nil, ErrNotLoopback
	}
	l, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return l, nil
}

// BaseURL is what OPENAI_BASE_URL has to be for a gateway that listens on l.
func BaseURL(l net.Listener) string { return "http://" + l.Addr().String() + "/v1" }
