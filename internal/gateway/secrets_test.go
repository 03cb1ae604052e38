package gateway

import (
	"encoding/base64"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/redact"
)

// TestSecretsStayOutOfTheLog: an agent may say its token, in its prompt's answer or a tool's output,
// and a gateway may be asked with one that isn't its own.
func TestSecretsStayOutOfTheLog(t *testing.T) {
	const bearer, ticket = "bearer-3NZq8vR1xW0uT7s", "ticket-Yh5Kc2Lm9Pd4Jf6"
	var secrets redact.Set
	secrets.Add(ticket)
	for name, secrets := range map[string]*redact.Set{"told": &secrets, "its own": nil} {
		for _, token := range []Credential{nil, static(bearer), static("another")} {
			var log strings.Builder
			g, err := New(Default(), Options{Token: token, Log: &log, Secrets: secrets})
			check(t, err)
			srv := httptest.NewServer(g)
			prompt := bearer + " " + base64.StdEncoding.EncodeToString([]byte("x"+bearer+"y"))
			if secrets != nil {
				prompt += " " + ticket
			}
			_, _, err = post(t, srv, `{"model": "m", "input": "say `+prompt+`"}`, bearer)
			check(t, err)
			srv.Close()
			g.open.Wait()
			for _, secret := range []string{bearer, ticket} {
				if forms := redact.Find([]byte(log.String()), secret); len(forms) > 0 {
					t.Errorf("%s: the log has it as %v: %s", name, forms, log.String())
				}
			}
			if token != static("another") && !strings.Contains(log.String(), "say "+redact.Mask) {
				t.Errorf("%s: the prompt isn't in the log: %s", name, log.String())
			}
		}
	}
}
