package channel

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"
)

// exchange carries out's messages after peerSeen to the other end and in's from there, with their
// acknowledgements, over one stream, until that fails or ctx ends. Closing the stream when ctx ends
// is the caller's business.
func exchange(ctx context.Context, stream io.ReadWriter, out *Log, in *Inbox, peerSeen uint64) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return sendMessages(ctx, stream, out, peerSeen) })
	g.Go(func() error { return sendAcks(ctx, stream, in) })
	g.Go(func() error { return receive(stream, out, in) })
	return g.Wait()
}

func sendMessages(ctx context.Context, w io.Writer, out *Log, sent uint64) error {
	for n := sent + 1; ; n++ {
		entry, err := out.Get(ctx, n)
		if err != nil {
			return err
		}
		if err := writeFrame(w, kindMessage, append(binary.BigEndian.AppendUint64(nil, n), entry...)); err != nil {
			return err
		}
	}
}

func sendAcks(ctx context.Context, w io.Writer, in *Inbox) error {
	for acked := uint64(0); ; {
		n, err := in.Taken(ctx, acked)
		if err != nil {
			return err
		}
		if err := writeFrame(w, kindAck, binary.BigEndian.AppendUint64(nil, n)); err != nil {
			return err
		}
		acked = n
	}
}

// receive never waits for a consumer, so an acknowledgement is never stuck behind a message.
func receive(r io.Reader, out *Log, in *Inbox) error {
	for {
		k, payload, err := readFrame(r)
		if err != nil {
			return unexpected(err)
		}
		if len(payload) < 8 {
			return fmt.Errorf("%w: frame %q of %d bytes among messages", ErrProtocol, byte(k), len(payload))
		}
		n := binary.BigEndian.Uint64(payload)
		switch k {
		case kindMessage:
			err = in.Put(n, payload[8:])
		case kindAck:
			err = out.Ack(n)
		default:
			err = fmt.Errorf("%w: frame %q among messages", ErrProtocol, byte(k))
		}
		if err != nil {
			return err
		}
	}
}
