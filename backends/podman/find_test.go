package podman

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/backends"
)

// engine answers on a unix socket as a Podman of that version would, with info as its /info.
func engine(t *testing.T, socket, version, info string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Libpod-API-Version", version)
		if strings.HasSuffix(r.URL.Path, "/info") {
			fmt.Fprint(w, info)
		}
	})
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: mux}}
	s.Start()
	t.Cleanup(s.Close)
	return unixURL(socket)
}

// deaf is a socket that takes connections and never answers.
func deaf(t *testing.T, socket string) string {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return unixURL(socket)
}

func playedFinder(goos string, env map[string]string) finder {
	return finder{
		goos:     goos,
		getenv:   func(k string) string { return env[k] },
		machines: func(context.Context) ([]candidate, error) { return nil, errors.New("no machine") },
		start: func(context.Context) (*service, error) {
			return nil, fmt.Errorf("no podman command: install it: %w", backends.ErrUnavailable)
		},
	}
}

// TestFindOrder: podman#12728, #13609.
func TestFindOrder(t *testing.T) {
	dir := t.TempDir()
	option := engine(t, filepath.Join(dir, "option"), "5.0.0", "")
	host := engine(t, filepath.Join(dir, "host"), "5.0.0", "")
	session := engine(t, filepath.Join(dir, "podman", "podman.sock"), "5.0.0", "")
	machine := engine(t, filepath.Join(dir, "machine"), "5.0.0", "")
	tests := []struct {
		name    string
		goos    string
		options Options
		env     map[string]string
		want    string
		remote  bool
	}{
		{"option first", "linux", Options{URL: option}, map[string]string{"CONTAINER_HOST": host, "XDG_RUNTIME_DIR": dir}, option, false},
		{"then CONTAINER_HOST", "linux", Options{}, map[string]string{"CONTAINER_HOST": host, "XDG_RUNTIME_DIR": dir}, host, false},
		{"then the session's socket", "linux", Options{}, map[string]string{"XDG_RUNTIME_DIR": dir}, session, false},
		{"then the machine", "darwin", Options{}, map[string]string{}, machine, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := playedFinder(tt.goos, tt.env)
			f.machines = func(context.Context) ([]candidate, error) {
				return []candidate{{source: "stale", url: "unix:///no/such"}, {source: "machine", url: machine, machine: true}}, nil
			}
			tt.options.DialTimeout = time.Minute
			got, err := f.find(t.Context(), tt.options)
			if err != nil {
				t.Fatal(err)
			}
			if got.client.conn.URI.String() != tt.want || got.remote != tt.remote {
				t.Errorf("found %s, remote %v", got.client.conn.URI, got.remote)
			}
		})
	}
}

func TestFindErrors(t *testing.T) {
	dir := t.TempDir()
	old := engine(t, filepath.Join(dir, "old"), "4.2.0", "")
	ancient := engine(t, filepath.Join(dir, "ancient"), "3.4.0", "")
	silent := deaf(t, filepath.Join(dir, "deaf"))
	tests := []struct {
		name    string
		goos    string
		options Options
		env     map[string]string
		want    error
		says    []string
	}{
		{"no podman binary", "linux", Options{}, map[string]string{"XDG_RUNTIME_DIR": dir}, backends.ErrUnavailable,
			[]string{"no podman command: install it", "podman.sock: no such file"}},
		{"no machine", "darwin", Options{}, nil, backends.ErrUnavailable, []string{"no machine", "podman machine start"}},
		{"too old", "linux", Options{URL: old}, nil, backends.ErrUnsupported, []string{"4.2.0", "4.3.0 or later"}},
		{"much too old", "linux", Options{URL: ancient}, nil, backends.ErrUnsupported, []string{"3.4.0", "4.3.0 or later"}},
		{"option fails, nothing else tried", "linux", Options{URL: "unix:///no/such"}, map[string]string{"CONTAINER_HOST": old},
			backends.ErrUnavailable, []string{"unix:///no/such", "no such file"}},
		{"CONTAINER_HOST fails", "linux", Options{}, map[string]string{"CONTAINER_HOST": "unix:///no/such"},
			backends.ErrUnavailable, []string{"CONTAINER_HOST unix:///no/such"}},
		{"nobody behind ssh", "linux", Options{URL: "ssh://core@127.0.0.1:1/run/podman.sock"}, nil,
			backends.ErrUnavailable, []string{"Podman at ssh://core@127.0.0.1:1/run/podman.sock", "connection refused"}},
		{"scheme", "linux", Options{URL: "http://x"}, nil, backends.ErrUnavailable, []string{`scheme "http"`}},
		{"no answer", "linux", Options{URL: silent, DialTimeout: 50 * time.Millisecond}, nil, backends.ErrUnavailable, []string{"no answer within 50ms"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.options.DialTimeout == 0 {
				tt.options.DialTimeout = time.Minute
			}
			_, err := playedFinder(tt.goos, tt.env).find(t.Context(), tt.options)
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			for _, s := range tt.says {
				if err != nil && !strings.Contains(err.Error(), s) {
					t.Errorf("error %q lacks %q", err, s)
				}
			}
		})
	}
}

// TestFindNamesCandidates: each place that was tried is in the error, with why it isn't it.
func TestFindNamesCandidates(t *testing.T) {
	f := playedFinder("darwin", map[string]string{"XDG_RUNTIME_DIR": "/no"})
	f.machines = func(context.Context) ([]candidate, error) {
		return []candidate{
			{source: "Podman machine a", url: "unix:///no/such", machine: true},
			{source: "Podman connection b", url: "ssh://core@127.0.0.1:1/run/podman.sock"},
		}, nil
	}
	_, err := f.find(t.Context(), Options{DialTimeout: time.Minute})
	if !errors.Is(err, backends.ErrUnavailable) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{
		"/no/podman/podman.sock: no such file", "Podman machine a: no such file", "Podman connection b: ", "connection refused", "podman machine start",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
}

func TestFindErrorsHoldNoPassword(t *testing.T) {
	_, err := playedFinder("linux", nil).find(t.Context(), Options{URL: "http://u:s3cret@x", DialTimeout: time.Minute})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v", err)
	}
}

const goodInfo = `{"host":{"arch":"amd64","os":"linux","cgroupVersion":"v2","cgroupManager":"systemd",
"cgroupControllers":["cpu","memory","pids"],"ociRuntime":{"name":"crun","version":"crun version 1.8.1\ncommit: f8a"},
"idMappings":{"uidmap":[{"size":1},{"size":65536}],"gidmap":[{"size":1},{"size":65536}]},
"slirp4netns":{"executable":"/usr/bin/slirp4netns"},"security":{"rootless":true,"seccompEnabled":true}},
"store":{"graphDriverName":"overlay"},"version":{"Version":"5.4.0"}}`

func TestInfo(t *testing.T) {
	all := backends.Capabilities{MemoryLimit: true, PidsLimit: true, CPUWeight: true, Isolation: true, NetworkEngine: true, Copy: true}
	noLimits := backends.Capabilities{Isolation: true, NetworkEngine: true, Copy: true}
	tests := []struct {
		name     string
		from, to string
		want     backends.Capabilities
		err      error
		says     string
	}{
		{"all well", "", "", all, nil, ""},
		{"podman#21575: cgroupfs manager", `"systemd"`, `"cgroupfs"`, noLimits, nil, ""},
		{"podman#22147: cpu isn't delegated", `"cpu",`, ``,
			backends.Capabilities{MemoryLimit: true, PidsLimit: true, Isolation: true, NetworkEngine: true, Copy: true}, nil, ""},
		{"cgroup v1", `"v2"`, `"v1"`, noLimits, nil, ""},
		{"no network driver", `/usr/bin/slirp4netns`, ``,
			backends.Capabilities{MemoryLimit: true, PidsLimit: true, CPUWeight: true, Isolation: true, Copy: true}, nil, ""},
		{"podman#12715: no subordinate ids", `"uidmap":[{"size":1},{"size":65536}]`, `"uidmap":[{"size":1}]`,
			backends.Capabilities{}, backends.ErrUnavailable, "--add-subuids"},
		{"podman#12715: no subordinate gids", `"gidmap":[{"size":1},{"size":65536}]`, `"gidmap":[{"size":1}]`,
			backends.Capabilities{}, backends.ErrUnavailable, "--add-subgids"},
		{"no seccomp", `"seccompEnabled":true`, `"seccompEnabled":false`, backends.Capabilities{}, backends.ErrUnsupported, "seccomp"},
		{"another system", `"os":"linux"`, `"os":"freebsd"`, backends.Capabilities{}, backends.ErrUnsupported, "freebsd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			info := strings.Replace(goodInfo, tt.from, tt.to, 1)
			if info == goodInfo && tt.from != tt.to {
				t.Fatal("nothing was replaced")
			}
			url := engine(t, filepath.Join(t.TempDir(), "s"), "5.4.0", info)
			b, err := New(t.Context(), Options{URL: url})
			if tt.err != nil {
				if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("error %v, want %v with %q", err, tt.err, tt.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			got, err := b.Info(t.Context())
			if err != nil || got.Capabilities != tt.want || got.Runtime != "crun 1.8.1" || got.Version != "5.4.0" || !got.Rootless {
				t.Errorf("info %+v, %v", got, err)
			}
		})
	}
}

func TestParseMachines(t *testing.T) {
	got := parseMachines([]byte(`[{"Name":"a","State":"stopped","ConnectionInfo":{"PodmanSocket":{"Path":"/a"}}},
		{"Name":"b","State":"running","ConnectionInfo":{"PodmanSocket":{"Path":"/b"}}}]`))
	if len(got) != 1 || got[0] != (candidate{source: "Podman machine b", url: "unix:///b", machine: true}) {
		t.Errorf("machines %+v", got)
	}
}

func TestParseConnections(t *testing.T) {
	got := parseConnections([]byte(`[{"Name":"x","URI":"ssh://x","Default":false},
		{"Name":"y","URI":"ssh://core@127.0.0.1:5/run/podman.sock","Identity":"/id","IsMachine":true,"Default":true}]`))
	want := candidate{source: "Podman connection y", url: "ssh://core@127.0.0.1:5/run/podman.sock", identity: "/id", machine: true}
	if len(got) != 1 || got[0] != want {
		t.Errorf("connections %+v", got)
	}
}
