package channel

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/inference/models"
)

const (
	probeTimeout = 60 * time.Second
	probeBodyMax = 8 << 20
	detailMax    = 300
)

// probe asks the gateway for its models as the app will: over the tunnel, with the token file.
func (s *Server) probe(ctx context.Context, p InferenceProbe) (InferenceReport, error) {
	if !tokenName(p.Token) || !strings.HasPrefix(p.Path, "/") {
		return InferenceReport{}, fmt.Errorf("%w: probe of %.200q with token %.40q", ErrInvalid, p.Path, p.Token)
	}
	token, err := os.ReadFile(filepath.Join(s.opts.TokensDir, p.Token))
	if err != nil {
		return InferenceReport{}, fmt.Errorf("%w: read token: %w", ErrFailed, err)
	}
	bearer := string(bytes.TrimSpace(token))
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.TunnelAddr()+p.Path, nil)
	if err != nil {
		return InferenceReport{}, fmt.Errorf("%w: path %.200q", ErrInvalid, p.Path)
	}
	request.Header.Set("Authorization", "Bearer "+bearer)
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	r := ask(&client, request)
	r.Detail = oneLine(strings.ReplaceAll(r.Detail, bearer, "[token]"))
	return r, nil
}

func ask(client *http.Client, request *http.Request) InferenceReport {
	response, err := client.Do(request)
	if err != nil {
		return InferenceReport{Phase: models.PhaseTunnel, Detail: err.Error()}
	}
	defer response.Body.Close()
	r := InferenceReport{Status: response.StatusCode}
	body, err := io.ReadAll(io.LimitReader(response.Body, probeBodyMax))
	if f, ok := models.FailureOf(response.Header, body); ok {
		return InferenceReport{Phase: f.Phase, Detail: f.Message}
	}
	switch {
	case response.StatusCode != http.StatusOK:
		r.Phase, r.Detail = models.PhaseStatus, string(body)
	case err != nil:
		r.Phase, r.Detail = models.PhaseBody, err.Error()
	default:
		if r.Models, err = models.Parse(body); err != nil {
			r.Phase, r.Detail = models.PhaseBody, err.Error()
		}
	}
	return r
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) > detailMax {
		s = strings.ToValidUTF8(s[:detailMax], "") + "…"
	}
	return s
}
