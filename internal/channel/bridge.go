package channel

import (
	"io"
)

// bridgeBuffer is as much as a pipe can be made to hold.
const bridgeBuffer = 1 << 20

// Bridge joins the stdio of `berth-worker channel` to a connection with the worker, until either
// ends. It closes conn, and returns with no write to out under way; a read of in may be.
func Bridge(conn io.ReadWriteCloser, in io.Reader, out io.Writer) error {
	inEnd, outEnd := make(chan error, 1), make(chan error, 1)
	go func() { inEnd <- forward(conn, in) }()
	go func() { outEnd <- forward(out, conn) }()
	select {
	case err := <-inEnd:
		conn.Close()
		<-outEnd
		return err
	case err := <-outEnd:
		conn.Close()
		return err
	}
}

// forward hides WriteTo and ReadFrom, which would choose smaller buffers.
func forward(w io.Writer, r io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, bridgeBuffer))
	return err
}
