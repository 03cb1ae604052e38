package network

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// helperArg is the one argument of a helper.
const helperArg = "berth-network-helper"

// helperPath is a helper's PATH: iptables is where an ordinary user's isn't.
const helperPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// helperTime is a helper's: it ends its plugins by itself, and its caller doesn't, which would leave those
// alone.
const helperTime = 45 * time.Second

// request is what a helper is to do: attach, or detach.
type request struct {
	Attach bool   `json:"attach"`
	ID     string `json:"id"`
	PID    int    `json:"pid,omitempty"`
}

// hooked: main called RunHelper, so this program can be its own helper.
var hooked bool

// RunHelper doesn't return where this process is a helper; else it does nothing. Main calls it first.
func RunHelper() {
	hooked = true
	if len(os.Args) != 2 || os.Args[1] != helperArg {
		return
	}
	unix.CloseOnExec(3) // its program, which plugins have no use for
	if err := serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	var r request
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		return fmt.Errorf("reading a request: %w", err)
	}
	if r.Attach {
		return attach(ctx, r.ID, r.PID)
	}
	return detach(ctx, r.ID)
}

// help runs a helper in the engine's namespaces and waits for it, or for ctx's end: it goes on then.
func (e Engine) help(ctx context.Context, r request) error {
	if !hooked {
		return errNoHelper
	}
	in, err := json.Marshal(r)
	if err != nil {
		return err
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	cmd := e.helper(self)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &said, &said
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Run()
		self.Close()
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		return errors.New(strings.ReplaceAll(text, "\n", "; "))
	}
	return err
}

// helper is this program once more. It goes along as an open file: its path may be another's there.
func (e Engine) helper(self *os.File) *exec.Cmd {
	args := []string{"/proc/self/fd/3", helperArg}
	if !e.entered() {
		enter := []string{"nsenter", "--target", strconv.Itoa(e.PID), "--mount", "--net"}
		if e.Rootless {
			enter = append(enter, "--user", "--preserve-credentials")
		}
		args = slices.Concat(enter, []string{"--"}, args)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Dir, cmd.ExtraFiles = []string{"PATH=" + helperPath}, "/", []*os.File{self}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is berth's to take
	return cmd
}
