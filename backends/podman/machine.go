package podman

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// machines asks the podman command, on a Mac, for the socket of its running machine and for the
// default of its connections, in this order (podman#12728: sockets can be many, and stale).
func machines(ctx context.Context) ([]candidate, error) {
	bin, err := exec.LookPath("podman")
	if err != nil {
		return nil, errors.New("no podman command: install it with `brew install podman`, then `podman machine init --now`")
	}
	var cs []candidate
	if out, err := podmanCommand(ctx, bin, "machine", "inspect").Output(); err == nil {
		cs = append(cs, parseMachines(out)...)
	}
	if out, err := podmanCommand(ctx, bin, "system", "connection", "list", "--format", "json").Output(); err == nil {
		cs = append(cs, parseConnections(out)...)
	}
	if len(cs) == 0 {
		return nil, errors.New("podman knows no machine and no connection")
	}
	return cs, nil
}

func podmanCommand(ctx context.Context, bin string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = podmanEnv(os.Environ())
	return cmd
}

func parseMachines(b []byte) []candidate {
	var list []struct {
		Name           string
		State          string
		ConnectionInfo struct{ PodmanSocket struct{ Path string } }
	}
	if json.Unmarshal(b, &list) != nil {
		return nil
	}
	var cs []candidate
	for _, m := range list {
		if m.State == "running" && m.ConnectionInfo.PodmanSocket.Path != "" {
			cs = append(cs, candidate{
				source:  fmt.Sprintf("Podman machine %s", m.Name),
				url:     unixURL(m.ConnectionInfo.PodmanSocket.Path),
				machine: true,
			})
		}
	}
	return cs
}

func parseConnections(b []byte) []candidate {
	var list []struct {
		Name      string
		URI       string
		Identity  string
		IsMachine bool
		Default   bool
	}
	if json.Unmarshal(b, &list) != nil {
		return nil
	}
	for _, c := range list {
		if c.Default {
			return []candidate{{
				source:   fmt.Sprintf("Podman connection %s", c.Name),
				url:      c.URI,
				identity: c.Identity,
				machine:  c.IsMachine,
			}}
		}
	}
	return nil
}
