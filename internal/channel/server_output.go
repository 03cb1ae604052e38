package channel

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/berth-run/berth/internal/pipe"
)

// outputWait is how long output is waited for once the process itself has ended, when a descendant in the
// background holds it open.
const outputWait = 500 * time.Millisecond

// output is one of a command's streams on its way to the coordinator, which may be slow to take it: what the
// process has written is delivered, however long that takes after its end.
type output struct {
	ours, theirs *os.File // the ends of a pipe
	to           *frameWriter
	done         chan struct{}
}

// outputs gives a command both, which are under way from here on.
func outputs(cmd *exec.Cmd, w io.Writer) (all []*output, err error) {
	for _, k := range []kind{kindStdout, kindStderr} {
		o := &output{to: newFrameWriter(w, k, outputMax), done: make(chan struct{})}
		if o.ours, o.theirs, err = os.Pipe(); err != nil {
			leave(all)
			return nil, err
		}
		all = append(all, o)
		go o.copy()
	}
	cmd.Stdout, cmd.Stderr = all[0].theirs, all[1].theirs
	return all, nil
}

// leave lets go of the command's ends, which it has by then or never will.
func leave(all []*output) {
	for _, o := range all {
		o.theirs.Close()
	}
}

// settle waits, after the process's end, until all that it wrote is on its way, or nobody wants it any more.
func settle(ctx context.Context, all []*output) {
	leave(all)
	for _, o := range all {
		_ = o.ours.SetReadDeadline(time.Now().Add(outputWait)) // of a closed one: it's done
	}
	for _, o := range all {
		select {
		case <-o.done:
		case <-ctx.Done():
			o.ours.Close()
		}
	}
}

func (o *output) copy() {
	defer close(o.done)
	defer o.ours.Close() // who still writes is told
	if _, err := o.to.ReadFrom(o.ours); errors.Is(err, os.ErrDeadlineExceeded) {
		_, _ = o.to.ReadFrom(pipe.Ready(o.ours)) // the deadline hides what is there
	}
}
