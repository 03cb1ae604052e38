package codexconfig

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/rollout"
)

// maxToken bounds an MCP server's bearer, in bytes (contract §3.4).
const maxToken = 16_384

var labelPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// CheckServers makes sure that a variant's servers can be told to Codex, and told apart in its records
// (contract §1.3).
func CheckServers(servers []client.Server) error {
	seen := map[string]bool{}
	for _, s := range servers {
		if err := checkServer(s, seen); err != nil {
			return code.Errorf(code.EnvironmentInvalid, "MCP server %q: %w", s.Label, err)
		}
	}
	return nil
}

func checkServer(s client.Server, seen map[string]bool) error {
	// Two labels of one namespace couldn't be told apart in a record.
	key := strings.ToLower(rollout.Namespace(s.Label))
	switch {
	case !labelPattern.MatchString(s.Label):
		return errors.New("a label is a letter and up to 63 letters, digits, _ and -")
	case strings.EqualFold(s.Label, "cua_repl") || strings.EqualFold(s.Label, "codex"):
		return errors.New("this label is Codex's own")
	case seen[key]:
		return errors.New("another server's label is the same but for upper case, _ and -")
	case (s.Command == "") == (s.URL == ""):
		return errors.New("it needs a command or a URL, and not both")
	case len(s.Token) > maxToken || !IsPrintable(s.Token):
		return fmt.Errorf("its token must be printable ASCII of at most %d bytes", maxToken)
	}
	seen[key] = true
	return nil
}

// CheckInference makes sure that a batch says where its model is.
func CheckInference(i client.Inference) error {
	switch {
	case i.Mode == client.ModeGateway && (i.BaseURL == "" || i.TokenFile == ""):
		return code.Errorf(code.InferenceUnavailable, "gateway mode needs a base URL and a token file")
	case i.Mode == client.ModeAPIKey && i.TokenFile == "":
		return code.Errorf(code.APIKeyInvalid, "api-key mode needs a key file")
	case i.Mode != client.ModeGateway && i.Mode != client.ModeAPIKey:
		return code.Errorf(code.InferenceUnavailable, "unknown inference mode %q", i.Mode)
	}
	return nil
}

// IsPrintable tells whether s is printable ASCII without spaces, as every token and key is.
func IsPrintable(s string) bool {
	for _, c := range []byte(s) {
		if c < 0x21 || c > 0x7e {
			return false
		}
	}
	return true
}

// Labels are the servers' labels, in order.
func Labels(servers []client.Server) []string {
	labels := make([]string, len(servers))
	for i, s := range servers {
		labels[i] = s.Label
	}
	return labels
}
