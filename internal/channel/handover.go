package channel

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// handOver is the one byte that descriptors travel with.
const handOver = 'f'

// HandOver gives the worker at the other end of conn the stdio of `berth-worker channel`, so that no
// byte of the link goes through a process of its own, and returns when the worker has done with it.
// Nothing may use in and out any more. It closes conn.
func HandOver(conn *net.UnixConn, in, out *os.File) error {
	defer conn.Close()
	rights := unix.UnixRights(int(in.Fd()), int(out.Fd()))
	if _, _, err := conn.WriteMsgUnix([]byte{handOver}, rights, nil); err != nil {
		return fmt.Errorf("hand the link over to the worker: %w", err)
	}
	// Nothing is sent back; that the worker closes is the end.
	_, err := io.Copy(io.Discard, conn)
	return err
}

// takeOver receives what HandOver gives. The link is conn's: it ends when its other end does.
func takeOver(conn *net.UnixConn) (io.ReadWriteCloser, error) {
	_ = conn.SetReadDeadline(time.Now().Add(headerWait)) // an open socket takes it
	data, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(2*4))
	_, n, _, _, err := conn.ReadMsgUnix(data, rights)
	if err != nil {
		return nil, err
	}
	_ = conn.SetReadDeadline(time.Time{})
	files, err := descriptors(rights[:n])
	if err != nil {
		return nil, err
	}
	s := &stdio{in: files[0], out: files[1], conn: conn}
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		s.Close()
	}()
	return s, nil
}

// descriptors opens the two descriptors of a control message; of any other number it keeps none.
func descriptors(oob []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			// Then Close ends a Read that waits.
			err = errors.Join(err, unix.SetNonblock(fd, true))
			files = append(files, os.NewFile(uintptr(fd), "link"))
		}
	}
	if len(files) != 2 {
		err = fmt.Errorf("%w: %d descriptors for a link", ErrProtocol, len(files))
	}
	if err != nil {
		for _, f := range files {
			f.Close()
		}
		return nil, err
	}
	return files, nil
}

// stdio is a link's stdin and stdout, as the worker has them.
type stdio struct {
	in, out *os.File
	conn    *net.UnixConn
}

func (s *stdio) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *stdio) Write(p []byte) (int, error) { return s.out.Write(p) }

// Close may come twice.
func (s *stdio) Close() error {
	s.in.Close()
	s.out.Close()
	return s.conn.Close()
}
