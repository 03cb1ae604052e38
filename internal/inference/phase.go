package inference

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"

	"github.com/berth-run/berth/internal/inference/models"
)

// phase follows a request to the gateway, so that its failure can name where it was. Hooks come from
// several goroutines, since addresses are tried side by side.
type phase struct {
	ctx context.Context // the request's
	mu  sync.Mutex
	now string
}

// set takes the phase that the request is in now. One that was given up is in none: a gateway may still
// answer to the hanging up.
func (p *phase) set(now string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() == nil {
		p.now = now
	}
}

func (p *phase) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// trace sets the phases. Through a proxy, the connect phase lasts until the proxy has given a
// connection; without TLS there's none of that.
func (p *phase) trace() *httptrace.ClientTrace {
	p.now = models.PhaseConnect
	return &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { p.set(models.PhaseDNS) },
		DNSDone: func(i httptrace.DNSDoneInfo) {
			if i.Err == nil {
				p.set(models.PhaseConnect)
			}
		},
		TLSHandshakeStart: func() { p.set(models.PhaseTLS) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				p.set(models.PhaseStatus)
			}
		},
		GotConn:              func(httptrace.GotConnInfo) { p.set(models.PhaseStatus) },
		GotFirstResponseByte: func() { p.set(models.PhaseBody) },
	}
}
