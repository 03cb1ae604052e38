package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Credential is the token that a gateway accepts. Implementations are safe for concurrent use.
type Credential interface {
	// Current is the accepted token; an error or "" refuses everyone.
	Current() (string, error)
	// Rotate replaces the token; the old one is refused from then on.
	Rotate() error
}

// Random is a token of 32 random bytes, held in memory.
func Random() Credential {
	return &memory{token: newToken()}
}

type memory struct {
	mu    sync.Mutex
	token string
}

func (m *memory) Current() (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.token, nil
}

func (m *memory) Rotate() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.token = newToken()
	return nil
}

// File is a token in a file, read for every request, so its owner may change it at any time. Rotate
// writes a new one (0600, replaced atomically), for `MST_LLM_AUTH_COMMAND="cat FILE"` to find.
type File string

func (f File) Current() (string, error) {
	b, err := os.ReadFile(string(f))
	return strings.TrimSpace(string(b)), err
}

func (f File) Rotate() error {
	tmp, err := os.CreateTemp(filepath.Dir(string(f)), ".token-*") // 0600 by its contract
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone already when all went well
	if _, err := fmt.Fprintln(tmp, newToken()); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), string(f))
}

func newToken() string { return "berth-" + rand.Text() + rand.Text() }

// tokenID names a token in the log without giving it away.
func tokenID(token string) string {
	if token == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:4])
}

// authorized checks the bearer and notes in the log which token came.
func (g *Gateway) authorized(x *exchange) bool {
	bearer, _ := strings.CutPrefix(x.r.Header.Get("Authorization"), "Bearer ")
	x.entry.Token = tokenID(bearer)
	g.log.secrets.Add(bearer)
	if g.token == nil {
		x.entry.Accepted = true
		return true
	}
	want, err := g.token.Current()
	ok := err == nil && want != "" && subtle.ConstantTimeCompare([]byte(want), []byte(bearer)) == 1
	x.entry.Accepted = ok
	return ok
}

// countGranted rotates the token when the script's number of requests is full.
func (g *Gateway) countGranted(x *exchange) {
	every := g.script.Token.RotateEvery
	if every == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.granted++
	if g.granted < every {
		return
	}
	g.granted = 0
	x.entry.Rotated = true
	if err := g.token.Rotate(); err != nil {
		x.entry.Error = "rotate: " + err.Error()
	}
}
