package codex

import (
	"os"
	"regexp"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/codexconfig"
	"github.com/berth-run/berth/session/client/engine"
	"github.com/berth-run/berth/session/client/private"
)

// maxPrompt bounds a prompt, in bytes.
const maxPrompt = 1 << 20

var modelPattern = regexp.MustCompile(`^[A-Za-z0-9._:/@-]+$`) // gateways name models provider/model

// CheckBatch checks what a variant asks for, without looking at the machine.
func CheckBatch(b client.Batch) (Options, error) {
	o, err := ParseOptions(b.Options)
	if err != nil {
		return o, code.Errorf(code.EnvironmentInvalid, "%w", err)
	}
	if !modelPattern.MatchString(b.Model) {
		return o, code.Errorf(code.EnvironmentInvalid, "model %q: %s needs one, of letters, digits and . _ : / @ -", b.Model, Name)
	}
	if err := codexconfig.CheckServers(b.Servers); err != nil {
		return o, err
	}
	return o, codexconfig.CheckInference(b.Inference)
}

// checkMachine checks what Codex will run on.
func (c *Client) checkMachine(evidence string) error {
	if err := client.RequireLinux(Name); err != nil {
		return err
	}
	if err := engine.CheckPath(c.opts.Path, Name); err != nil {
		return err
	}
	if err := private.CheckDir(evidence); err != nil {
		return code.Errorf(code.EvidenceDirUnsafe, "%w", err)
	}
	if err := os.MkdirAll(c.opts.Dir, 0o700); err != nil {
		return code.Errorf(code.HomeUnsafe, "%w", err)
	}
	return nil
}
