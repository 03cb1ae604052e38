package channel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// HeaderPhase is set by the coordinator's end of the tunnel on an answer of its own (502), with the
// phase in which reaching the gateway failed: dns, connect, tls. The body is one line of detail.
const HeaderPhase = "Berth-Phase"

// Phases of an InferenceReport.
const (
	PhaseTunnel  = "tunnel"
	PhaseDNS     = "dns"
	PhaseConnect = "connect"
	PhaseTLS     = "tls"
	PhaseStatus  = "status"
	PhaseBody    = "body"
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
		return InferenceReport{Phase: PhaseTunnel, Detail: err.Error()}
	}
	defer response.Body.Close()
	r := InferenceReport{Status: response.StatusCode}
	body, err := io.ReadAll(io.LimitReader(response.Body, probeBodyMax))
	if phase := response.Header.Get(HeaderPhase); phase != "" {
		return InferenceReport{Phase: phase, Detail: string(body)}
	}
	switch {
	case response.StatusCode != http.StatusOK:
		r.Phase, r.Detail = PhaseStatus, string(body)
	case err != nil:
		r.Phase, r.Detail = PhaseBody, err.Error()
	default:
		if r.Models, err = parseModels(body); err != nil {
			r.Phase, r.Detail = PhaseBody, err.Error()
		}
	}
	return r
}

// parseModels reads both shapes a gateway may have: the OpenAI list ({"data":[{"id"}]}) and the one
// Codex reads ({"models":[{"slug"}]}).
func parseModels(body []byte) ([]string, error) {
	var list struct {
		Data   []struct{ ID string }   `json:"data"`
		Models []struct{ Slug string } `json:"models"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("list of models isn't JSON: %w", err)
	}
	if list.Data == nil && list.Models == nil {
		return nil, fmt.Errorf(`list of models has neither "data" nor "models"`)
	}
	models := []string{}
	for _, m := range list.Data {
		models = append(models, m.ID)
	}
	for _, m := range list.Models {
		models = append(models, m.Slug)
	}
	return models, nil
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) > detailMax {
		s = strings.ToValidUTF8(s[:detailMax], "") + "…"
	}
	return s
}
