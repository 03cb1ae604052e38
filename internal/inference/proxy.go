package inference

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"path"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/inference/models"
)

// newTransport dials as Go does by default (proxies of the environment, SSL_CERT_FILE), with limits
// for what happens before the request is sent. The answer may take as long as a model thinks.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // the shard's request says by itself what it takes
	}
}

// Handler is the coordinator's end of a shard's tunnel: served over channel's Tunnel, it passes
// requests below the base URL's path on to the gateway, and streams back what comes. A stream that
// the gateway cuts is cut for the shard too. A request without an answer gets a 502 with
// models.HeaderPhase. It's nil in api-key mode, where there is no tunnel.
func (w *Way) Handler(index int) http.Handler {
	if w.base == nil {
		return nil
	}
	s := w.shard(index)
	t := &tunnel{way: w, shard: s}
	t.proxy = &httputil.ReverseProxy{
		Rewrite:        t.rewrite,
		Transport:      w.transport,
		FlushInterval:  -1,
		ModifyResponse: t.answered,
		ErrorHandler:   t.failed,
		ErrorLog:       log.New(io.Discard, "", 0), // failures are answered and counted
	}
	return t
}

type tunnel struct {
	way   *Way
	shard *shard
	proxy *httputil.ReverseProxy
}

// key is of values in a request's context.
type key int

const (
	phaseKey key = iota
	tokenKey     // the credential that was sent
)

func (t *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !below(t.way.base.Path, r.URL.Path) {
		t.refuse(w, http.StatusNotFound, fmt.Sprintf("the tunnel passes on what is below %s/ only", t.way.base.Path))
		return
	}
	token, err := t.credential(r)
	switch {
	case errors.Is(err, errTicket):
		t.refuse(w, http.StatusUnauthorized, err.Error())
		return
	case err != nil:
		t.fail(w, http.StatusBadGateway, models.PhaseTunnel, err)
		return
	}
	ctx := context.WithValue(r.Context(), tokenKey, token)
	if r.URL.Path == t.way.base.Path+"/models" {
		timed, cancel := context.WithTimeout(ctx, t.way.timeout)
		defer cancel()
		ctx = timed
	}
	p := &phase{ctx: ctx}
	ctx = httptrace.WithClientTrace(context.WithValue(ctx, phaseKey, p), p.trace())
	t.shard.stats.add(func(s *Stats) { s.Requests++ })
	t.proxy.ServeHTTP(w, r.WithContext(ctx))
}

// below tells whether a path is base or below it, and stays there however a server resolves it.
func below(base, p string) bool {
	clean := path.Clean("/" + p)
	return (clean == base || strings.HasPrefix(clean, base+"/")) && clean == strings.TrimSuffix(p, "/")
}

var errTicket = errors.New("this isn't the shard's ticket")

// credential is the token to send: the shard's own, or in broker mode the one its ticket stands for.
func (t *tunnel) credential(r *http.Request) (string, error) {
	bearer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if t.shard.ticket == "" {
		return bearer, nil
	}
	if subtle.ConstantTimeCompare([]byte(bearer), []byte(t.shard.ticket)) != 1 {
		return "", errTicket
	}
	return t.way.source.lasting(r.Context(), 0)
}

func (t *tunnel) rewrite(r *httputil.ProxyRequest) {
	base := t.way.base
	r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = base.Scheme, base.Host, base.Host
	if base.RawQuery != "" {
		r.Out.URL.RawQuery = strings.TrimSuffix(base.RawQuery+"&"+r.Out.URL.RawQuery, "&")
	}
	if t.shard.ticket != "" {
		r.Out.Header.Set("Authorization", "Bearer "+r.In.Context().Value(tokenKey).(string))
	}
	if r.Out.Body != nil {
		r.Out.Body = counted{r.Out.Body, func(n int64) { t.shard.stats.add(func(s *Stats) { s.SentBytes += n }) }}
	}
}

// answered looks at the gateway's answer on its way. After a 401 the shard's token file is renewed
// first, so that the retry which Codex makes at once finds the new one.
func (t *tunnel) answered(r *http.Response) error {
	t.shard.stats.add(func(s *Stats) { s.Statuses[r.StatusCode]++ })
	r.Header.Del(models.HeaderPhase) // only this end may say that
	r.Body = counted{r.Body, func(n int64) { t.shard.stats.add(func(s *Stats) { s.ReceivedBytes += n }) }}
	if r.StatusCode == http.StatusUnauthorized {
		t.renew(r.Request.Context())
	}
	return nil
}

func (t *tunnel) renew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	refused := ctx.Value(tokenKey).(string)
	if t.shard.ticket != "" {
		_, _ = t.way.source.after(ctx, refused) // a failure shows when the ticket comes next
		return
	}
	if r := t.way.renewerOf(t.shard); r != nil {
		if err := r.renew(ctx, refused); err != nil {
			r.warn(err)
		}
	}
}

// failed answers for a gateway that didn't. A shard that gave up itself is no failure of the gateway's.
func (t *tunnel) failed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		t.shard.stats.add(func(s *Stats) { s.GivenUp++ })
		return
	}
	p := r.Context().Value(phaseKey).(*phase).String()
	status := http.StatusBadGateway
	if errors.Is(r.Context().Err(), context.DeadlineExceeded) {
		status, err = http.StatusGatewayTimeout, fmt.Errorf("no answer within %s", t.way.timeout)
	}
	t.fail(w, status, p, err)
}

func (t *tunnel) fail(w http.ResponseWriter, status int, phase string, err error) {
	t.shard.stats.add(func(s *Stats) { s.Failures[phase]++ })
	models.WriteFailure(w, status, models.Failure{
		Code: string(code.InferenceUnavailable), Phase: phase, Message: t.way.secrets.String(err.Error()),
	})
}

func (t *tunnel) refuse(w http.ResponseWriter, status int, message string) {
	t.shard.stats.add(func(s *Stats) { s.Refused++ })
	models.WriteFailure(w, status, models.Failure{Code: "refused", Phase: models.PhaseTunnel, Message: message})
}
