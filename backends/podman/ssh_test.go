package podman_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/podman"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/oci"
)

// TestSSH reaches this user's own Podman the way one of another machine is: by ssh, here on loopback
// with keys of the test's.
func TestSSH(t *testing.T) {
	local := testrig.Podman(t)
	probe := testrig.Probe(t) // built with the user's own home
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
	r := newRigWith(t, b, backendtest.NewImage(t, probe, nil))
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
	writeKey(t, filepath.Join(sshd.dir, "stranger"), newKey(t))
	_, err := podman.New(t.Context(), podman.Options{
		URL: sshd.url(podman.Socket(local)), Identity: filepath.Join(sshd.dir, "stranger"),
	})
	wantErr(t, err, backends.ErrUnavailable, sshd.addr)
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q isn't one line", err)
	}
}

// sshd is one of this user's, on loopback, in this process: it speaks the protocol by Go's own
// library, passes connections on to unix sockets as OpenSSH does, and lets in one key.
type sshd struct {
	addr string
	// dir has the key that is let in, `user`.
	dir    string
	config *ssh.ServerConfig
}

func (s sshd) url(socket string) string {
	u := url.URL{Scheme: "ssh", User: url.User("berth"), Host: s.addr, Path: socket}
	return u.String()
}

// startSSHD also gives the test a home whose known hosts are that one.
func startSSHD(t *testing.T) sshd {
	t.Helper()
	dir := t.TempDir()
	host, user := newKey(t), newKey(t)
	writeKey(t, filepath.Join(dir, "user"), user)
	allowed := publicKey(t, user).Marshal()
	s := sshd{dir: dir, config: &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if !bytes.Equal(key.Marshal(), allowed) {
				return nil, errors.New("not a key of this host's")
			}
			return &ssh.Permissions{}, nil
		},
	}}
	signer, err := ssh.NewSignerFromKey(host)
	if err != nil {
		t.Fatal(err)
	}
	s.config.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".ssh/known_hosts"), knownhosts.Line([]string{s.addr}, signer.PublicKey())+"\n")
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", "")
	var open sync.WaitGroup
	open.Go(func() { s.accept(l, &open) })
	t.Cleanup(func() {
		l.Close()
		open.Wait()
	})
	return s
}

func (s sshd) accept(l net.Listener, open *sync.WaitGroup) {
	var conns []net.Conn
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		conns = append(conns, c)
		open.Go(func() { s.serve(c) })
	}
	for _, c := range conns {
		c.Close()
	}
}

// serve answers one client until it goes.
func (s sshd) serve(c net.Conn) {
	defer c.Close()
	_, channels, requests, err := ssh.NewServerConn(c, s.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for ch := range channels {
		go forward(ch)
	}
}

// forward is OpenSSH's direct-streamlocal: the client names a unix socket to be connected with.
func forward(ch ssh.NewChannel) {
	var to struct {
		Socket, Reserved string
		Port             uint32
	}
	if ch.ChannelType() != "direct-streamlocal@openssh.com" || ssh.Unmarshal(ch.ExtraData(), &to) != nil {
		_ = ch.Reject(ssh.UnknownChannelType, "only unix sockets")
		return
	}
	target, err := net.Dial("unix", to.Socket)
	if err != nil {
		_ = ch.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer target.Close()
	stream, requests, err := ch.Accept()
	if err != nil {
		return
	}
	defer stream.Close()
	go ssh.DiscardRequests(requests)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(target, stream)
		_ = target.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(stream, target)
	_ = stream.CloseWrite()
	<-sent
}

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func publicKey(t *testing.T, key ed25519.PrivateKey) ssh.PublicKey {
	t.Helper()
	pub, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pub
}

func writeKey(t *testing.T, file string, key ed25519.PrivateKey) {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(pem.EncodeToMemory(block)))
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
