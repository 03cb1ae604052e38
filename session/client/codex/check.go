package codex

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/rollout"
)

// Bounds and forms of contract §1.2, §1.3 and §3.4.
const (
	maxToken  = 16_384
	maxAPIKey = 8 << 10
	maxPrompt = 1 << 20
)

var (
	modelPattern = regexp.MustCompile(`^[A-Za-z0-9._:/@-]+$`) // gateways name models provider/model
	labelPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
)

// CheckBatch checks what a variant asks for, without looking at the machine.
func CheckBatch(b client.Batch) (Options, error) {
	o, err := ParseOptions(b.Options)
	if err != nil {
		return o, code.Errorf(code.EnvironmentInvalid, "%w", err)
	}
	if !modelPattern.MatchString(b.Model) {
		return o, code.Errorf(code.EnvironmentInvalid, "model %q: %s needs one, of letters, digits and . _ : / @ -", b.Model, Name)
	}
	seen := map[string]bool{}
	for _, s := range b.Servers {
		if err := checkServer(s, seen); err != nil {
			return o, code.Errorf(code.EnvironmentInvalid, "MCP server %q: %w", s.Label, err)
		}
	}
	return o, checkInference(b.Inference)
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
	case len(s.Token) > maxToken || !isPrintable(s.Token):
		return fmt.Errorf("its token must be printable ASCII of at most %d bytes", maxToken)
	}
	seen[key] = true
	return nil
}

func checkInference(i client.Inference) error {
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

// checkMachine checks what Codex will run on.
func (c *Client) checkMachine(evidence string) error {
	if runtime.GOOS != "linux" {
		return code.Errorf(code.LinuxRequired, "%s runs in a Linux shard, not on %s", Name, runtime.GOOS)
	}
	if info, err := os.Stat(c.opts.Path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return code.Errorf(code.CodexPathInvalid, "%s is no program; is this an image for %s?", c.opts.Path, Name)
	}
	if err := checkOwnDir(evidence); err != nil {
		return code.Errorf(code.EvidenceDirUnsafe, "%w", err)
	}
	if err := os.MkdirAll(c.opts.Dir, 0o700); err != nil {
		return code.Errorf(code.HomeUnsafe, "%w", err)
	}
	return nil
}

// checkOwnDir makes sure that dir is a folder that nobody else can reach.
func checkOwnDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s must be a folder of this user, mode 0700", dir)
	}
	return nil
}

func isPrintable(s string) bool {
	for _, c := range []byte(s) {
		if c < 0x21 || c > 0x7e {
			return false
		}
	}
	return true
}
