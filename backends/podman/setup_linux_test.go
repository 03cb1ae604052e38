package podman

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
)

func TestServiceEnv(t *testing.T) {
	const nobody = 1<<31 - 7 // has no folder below /run/user
	here := fmt.Sprintf("/run/user/%d", os.Getuid())
	_, err := os.Stat(here)
	tests := []struct {
		name string
		dir  string // XDG_RUNTIME_DIR
		uid  int
		want []string
		says string
	}{
		{"set", "/x", nobody, []string{"A=1"}, ""},
		{"root needs none", "", 0, []string{"A=1"}, ""},
		{"trap 3: no session", "", nobody, nil, "container engine unavailable: XDG_RUNTIME_DIR isn't set and /run/user/2147483641 doesn't exist, so this user has no login session: " +
			"run `sudo loginctl enable-linger 2147483641` and log in again, or set XDG_RUNTIME_DIR to a private directory"},
	}
	if err == nil && os.Getuid() != 0 {
		tests = append(tests, struct {
			name string
			dir  string
			uid  int
			want []string
			says string
		}{"a session that su forgot", "", os.Getuid(), []string{"A=1", "XDG_RUNTIME_DIR=" + here}, ""})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := serviceEnv([]string{"A=1"}, func(string) string { return tt.dir }, tt.uid)
			if !slices.Equal(got, tt.want) {
				t.Errorf("environment %q, want %q", got, tt.want)
			}
			if tt.says == "" && err != nil || tt.says != "" && (!errors.Is(err, backends.ErrUnavailable) || err.Error() != tt.says) {
				t.Errorf("error %v, want %q", err, tt.says)
			}
		})
	}
}

// TestSetupErrors: what a user reads whose machine isn't set up is one line: which engine, the cause,
// the next step.
func TestSetupErrors(t *testing.T) {
	dir := t.TempDir()
	old := engine(t, dir+"/old", "4.2.0", "")
	noIDs := engine(t, dir+"/ids", "4.3.1", strings.Replace(goodInfo, `{"size":65536}`, `{"size":0}`, 1))
	for name, tt := range map[string]struct{ host, want string }{
		"too old": {old, "Podman at CONTAINER_HOST " + old + ": container engine unsupported: it is Podman 4.2.0: upgrade it, berth needs 4.3.0 or later: " +
			"correct CONTAINER_HOST, or unset it and berth finds a Podman of this machine"},
		"not there": {"unix:///no/such", "container engine unavailable: Podman at CONTAINER_HOST unix:///no/such: no such file or directory: " +
			"correct CONTAINER_HOST, or unset it and berth finds a Podman of this machine"},
		"no ids": {noIDs, "container engine unavailable: this user has too few subordinate ids for unpacking images: " +
			"run `sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER`, then `podman system migrate`"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CONTAINER_HOST", tt.host)
			b, err := New(t.Context(), Options{})
			if err == nil {
				b.Close()
				t.Fatal("no error")
			}
			if err.Error() != tt.want {
				t.Errorf("said %q\nwant %q", err, tt.want)
			}
		})
	}
}
