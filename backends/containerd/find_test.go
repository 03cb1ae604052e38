package containerd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/client"
	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/backends"
)

func TestFind(t *testing.T) {
	const child = "/run/user/1000/containerd-rootless/child_pid"
	files := map[string]string{child: "77\n", "/state/child_pid": "88"}
	tests := []struct {
		name  string
		euid  int
		env   map[string]string
		o     Options
		up    string // the socket that answers
		tried []string
		want  engine
	}{
		{"as root", 0, nil, Options{}, defaultAddress, []string{defaultAddress}, engine{address: defaultAddress}},
		{"told", 1000, map[string]string{"CONTAINERD_ADDRESS": "/env"}, Options{Address: "unix:///told"}, "/told", []string{"/told"}, engine{address: "/told"}},
		{"in the environment", 0, map[string]string{"CONTAINERD_ADDRESS": "/env"}, Options{}, "/env", []string{"/env"}, engine{address: "/env"}},
		{"meant, and down", 0, map[string]string{"CONTAINERD_ADDRESS": "/env"}, Options{}, defaultAddress, []string{"/env"}, engine{}},
		{"rootless", 1000, map[string]string{"XDG_RUNTIME_DIR": "/run/user/1000"}, Options{}, "/proc/77/root" + defaultAddress,
			[]string{"/proc/77/root" + defaultAddress}, engine{defaultAddress, "/proc/77/root", true}},
		{"rootless, elsewhere", 1000, map[string]string{"CONTAINERD_ROOTLESS_ROOTLESSKIT_STATE_DIR": "/state"}, Options{}, "/proc/88/root" + defaultAddress,
			[]string{"/proc/88/root" + defaultAddress}, engine{defaultAddress, "/proc/88/root", true}},
		{"no session, root's is open to this user", 1000, nil, Options{}, defaultAddress, []string{defaultAddress}, engine{address: defaultAddress}},
		{"a stale child, and root's", 1000, map[string]string{"XDG_RUNTIME_DIR": "/run/user/1000"}, Options{}, defaultAddress,
			[]string{"/proc/77/root" + defaultAddress, defaultAddress}, engine{address: defaultAddress}},
		{"none", 1000, map[string]string{"XDG_RUNTIME_DIR": "/run/user/1"}, Options{}, "", []string{defaultAddress}, engine{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tried []string
			f := finder{
				getenv:   func(k string) string { return tt.env[k] },
				euid:     tt.euid,
				rootless: func(string) bool { return false },
				readFile: func(name string) ([]byte, error) {
					if s, ok := files[name]; ok {
						return []byte(s), nil
					}
					return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
				},
				connect: func(_ context.Context, e engine, _ Options) (*client.Client, error) {
					tried = append(tried, e.socket())
					if e.socket() != tt.up {
						return nil, errors.New(e.socket() + " is down")
					}
					return nil, nil
				},
			}
			got, _, err := f.find(t.Context(), tt.o)
			if d := cmp.Diff(tt.tried, tried); d != "" {
				t.Errorf("tried (-want +got)\n%s", d)
			}
			if tt.want == (engine{}) {
				if !errors.Is(err, backends.ErrUnavailable) || !strings.Contains(err.Error(), tt.tried[0]+" is down") || strings.Contains(err.Error(), "%!") {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("%+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestSubordinate(t *testing.T) {
	tests := []struct {
		name, text string
		want       uint32
		bad        bool
	}{
		{"others", "me:100000:65536\n", 0, false},
		{"empty", "", 0, false},
		{"containers", "me:100000:65536\ncontainers:2147483648:1073741824\n", 1 << 31, false},
		{"too few", "containers:100000:1000\n", 0, true},
		{"the machine's own", "containers:0:65536\n", 0, true},
		{"no number", "containers:x:65536\n", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "subuid")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := subordinate(file)
			if got != tt.want || errors.Is(err, backends.ErrUnavailable) != tt.bad {
				t.Errorf("%d, %v", got, err)
			}
		})
	}
	if got, err := subordinate(filepath.Join(t.TempDir(), "absent")); got != 0 || err != nil {
		t.Errorf("without a file: %d, %v", got, err)
	}
}
