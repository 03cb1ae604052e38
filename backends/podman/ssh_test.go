package podman_test

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/podman"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/oci"
)

// TestSSH reaches this user's own Podman the way one of another machine is: through an sshd, here on
// loopback with keys of the test's.
func TestSSH(t *testing.T) {
	local := testrig.Podman(t)
	sshd := startSSHD(t)
	b, err := podman.New(t.Context(), podman.Options{
		URL: sshd.url(podman.Socket(local)), Identity: filepath.Join(sshd.dir, "user"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if info, err := b.Info(t.Context()); err != nil || !info.Remote {
		t.Errorf("info %+v, %v", info, err)
	}
	r := newRigWith(t, b, backendtest.NewImage(t, testrig.Probe(t), nil))
	s := r.start(t, r.config(t, oci.ShardSpec{}))
	// The end of stdin comes through, and all before it.
	in := bytes.Repeat([]byte("berth\n"), 1<<18)
	var out bytes.Buffer
	st, err := s.Exec(t.Context(), backends.Process{
		Args: []string{backendtest.ProbePath, "cat"}, Stdin: bytes.NewReader(in), Stdout: &out,
	})
	if err != nil || st.Code != 0 || !bytes.Equal(out.Bytes(), in) {
		t.Errorf("%v, %v, and %d of %d bytes came back", st, err, out.Len(), len(in))
	}
}

// TestSSHRefused: the error names the host, not the key.
func TestSSHRefused(t *testing.T) {
	local := testrig.Podman(t)
	sshd := startSSHD(t)
	keygen(t, filepath.Join(sshd.dir, "stranger"))
	_, err := podman.New(t.Context(), podman.Options{
		URL: sshd.url(podman.Socket(local)), Identity: filepath.Join(sshd.dir, "stranger"),
	})
	wantErr(t, err, backends.ErrUnavailable, fmt.Sprintf("127.0.0.1:%d", sshd.port))
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q isn't one line", err)
	}
}

// sshd is one of this user's, on loopback. dir has its files and the key `user` that it lets in.
type sshd struct {
	dir  string
	port int
}

func (s sshd) url(socket string) string {
	me, err := user.Current()
	if err != nil {
		panic(err)
	}
	u := url.URL{Scheme: "ssh", User: url.User(me.Username), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), Path: socket}
	return u.String()
}

// startSSHD also gives the test a home whose known hosts are that one.
func startSSHD(t *testing.T) sshd {
	t.Helper()
	bin, err := exec.LookPath("/usr/sbin/sshd") // it wants to be called by its whole path
	if p := os.Getenv("BERTH_TEST_SSHD"); p != "" {
		bin, err = p, nil
	}
	if err != nil {
		t.Skip("no sshd: install it (Debian: `apt install openssh-server`)")
	}
	s := sshd{dir: t.TempDir(), port: freePort(t)}
	keygen(t, filepath.Join(s.dir, "host"))
	keygen(t, filepath.Join(s.dir, "user"))
	config := fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %[2]s/host\nAuthorizedKeysFile %[2]s/user.pub\n"+
		"PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n", s.port, s.dir)
	write(t, filepath.Join(s.dir, "config"), config)
	home := filepath.Join(s.dir, "home")
	if err := os.MkdirAll(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(s.dir, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".ssh/known_hosts"), fmt.Sprintf("[127.0.0.1]:%d %s", s.port, key))
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", "")
	log := filepath.Join(s.dir, "log")
	cmd := exec.Command(bin, "-D", "-E", log, "-f", filepath.Join(s.dir, "config"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			said, err := os.ReadFile(log)
			t.Logf("sshd said:\n%s (%v)", said, err)
		}
	})
	eventually(t, "sshd listens", func() bool {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return s
}

func keygen(t *testing.T, file string) {
	t.Helper()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
