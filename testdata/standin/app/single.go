package app

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// errRuns: the profile has an app already.
var errRuns = errors.New("the app runs already")

// instance is the one app of a profile: whoever has the lock. Others reach it by its socket.
type instance struct {
	lock     *os.File
	socket   string
	listener net.Listener
}

// enter makes us the profile's app, or fails with errRuns. Its listener is there before a second start
// can find the lock taken for long: call waits for it.
func enter(profile string) (*instance, error) {
	in := &instance{socket: socketPath(profile)}
	lock, err := os.OpenFile(filepath.Join(profile, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return in, errRuns
		}
		return nil, err
	}
	_ = os.Remove(in.socket) // of one that was killed
	in.lock = lock
	if in.listener, err = net.Listen("unix", in.socket); err != nil {
		lock.Close()
		return nil, err
	}
	return in, os.Chmod(in.socket, 0o600)
}

// socketPath is in the runtime directory, since a profile's path may be too long for a socket.
func socketPath(profile string) string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = os.TempDir()
	}
	sum := sha256.Sum256([]byte(profile))
	return filepath.Join(dir, fmt.Sprintf("chatgpt-%x.sock", sum[:8]))
}

func (in *instance) leave() {
	in.listener.Close()
	in.lock.Close()
}

// serve answers second starts until leave.
func (in *instance) serve(s *stage) {
	for {
		conn, err := in.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			s.answer(conn)
		}()
	}
}

func (s *stage) answer(conn net.Conn) {
	var link string
	if json.NewDecoder(conn).Decode(&link) != nil {
		return
	}
	r := s.open(link)
	_ = json.NewEncoder(conn).Encode(r) // it may have gone
	if r.then != nil {
		r.then()
	}
}

// How long a second start waits for the first one's socket, and for its answer.
const (
	dialLimit = 30 * time.Second
	dialGap   = 20 * time.Millisecond
	callLimit = 2 * time.Minute
)

// call hands a link to the running app.
func call(socket, link string) (reply, error) {
	conn, err := dial(socket)
	if err != nil {
		return reply{}, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(callLimit))
	if err := json.NewEncoder(conn).Encode(link); err != nil {
		return reply{}, err
	}
	var r reply
	return r, json.NewDecoder(conn).Decode(&r)
}

func dial(socket string) (net.Conn, error) {
	deadline := time.Now().Add(dialLimit)
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil || time.Now().After(deadline) {
			return conn, err
		}
		time.Sleep(dialGap)
	}
}
