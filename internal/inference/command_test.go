package inference

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestTokenCommand(t *testing.T) {
	for _, tt := range []struct {
		name, command, want string
		err                 error
		text                string
	}{
		{"a line", "echo tok-123", "tok-123", nil, ""},
		{"no newline", "printf tok-123", "tok-123", nil, ""},
		{"CRLF", `printf 'tok-123\r\n'`, "tok-123", nil, ""},
		{"stderr is ignored", "echo noise >&2; echo tok", "tok", nil, ""},
		{"the longest", "head -c 16384 /dev/zero | tr '\\0' x; echo", strings.Repeat("x", maxToken), nil, ""},
		{"a process stays behind", "sleep 60 & echo tok", "tok", nil, ""},
		{"fails", "echo secret-out; echo secret-err >&2; exit 3", "", ErrCommand, "MST_LLM_AUTH_COMMAND failed with exit status 3"},
		{"not found", "no-such-command-here", "", ErrCommand, "MST_LLM_AUTH_COMMAND failed with exit status 127"},
		{"killed", "kill -9 $$", "", ErrCommand, "MST_LLM_AUTH_COMMAND was ended by killed"},
		{"nothing", "true", "", ErrCommand, "MST_LLM_AUTH_COMMAND printed nothing: it must print the token on stdout"},
		{"two lines", "echo one; echo two", "", ErrToken, "more than one line"},
		{"too long", "head -c 16385 /dev/zero | tr '\\0' x", "", ErrToken, "longer than 16384 characters"},
		{"endless", "yes", "", ErrToken, "longer than 16384 characters"},
		{"control character", `printf 'tok\001'`, "", ErrToken, "isn't printable ASCII"},
		{"not ASCII", `printf 'tok\303\244'`, "", ErrToken, "isn't printable ASCII"},
		{"a space", "echo the token", "", ErrToken, "a space"},
		{"a header", "echo Bearer tok-123", "", ErrToken, `begins with "Bearer"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := fromCommand(tt.command)(t.Context())
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Fatalf("got %q, %v; want %q, %v", got, err, tt.want, tt.err)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.text) || !errors.Is(err, ErrCommand)) {
				t.Errorf("the error is %q, want %q in it", err, tt.text)
			}
			if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "tok-123")) {
				t.Errorf("the error repeats the output: %q", err)
			}
		})
	}
}

// A command that hangs is killed with everything that it started.
func TestTokenCommandHangs(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	// Time enough to have written them, on a machine that is busy, too.
	_, err := runCommand(t.Context(), fmt.Sprintf("sleep 600 & echo $! >%s; echo $$ >>%s; wait", pids, pids), 15*time.Second)
	if !errors.Is(err, ErrCommand) || !strings.Contains(err.Error(), "took more than 15s and was killed") {
		t.Fatalf("got %v", err)
	}
	data, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		waitGone(t, pid)
	}
}

// waitGone waits until a killed process isn't running: an orphan's zombie is its new parent's affair.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
			return
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d is still there", pid)
}

func TestTokenCommandCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	if _, err := runCommand(ctx, "echo tok", time.Minute); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
}
