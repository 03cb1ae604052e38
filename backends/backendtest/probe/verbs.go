package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/berth-run/berth/internal/execkill"
)

// pause is a PID 1: it waits for the end, reaping.
func pause(ctx context.Context, _ []string, s Stdio) (int, error) {
	reap(ctx)
	fmt.Fprintln(s.Stdout, "ready")
	<-ctx.Done()
	return 0, nil
}

// block says ready and never ends by itself, whatever signal asks it to.
func block(ctx context.Context, _ []string, s Stdio) (int, error) {
	fmt.Fprintln(s.Stdout, "ready")
	<-ctx.Done()
	return 137, nil
}

func exit(_ context.Context, args []string, _ Stdio) (int, error) {
	return strconv.Atoi(args[0])
}

func cat(_ context.Context, _ []string, s Stdio) (int, error) {
	_, err := io.Copy(s.Stdout, s.Stdin)
	return 0, err
}

// Pattern is what `bytes` writes, over and over.
var Pattern = func() []byte {
	b := make([]byte, 1<<16)
	for i := range b {
		b[i] = byte(i * 131 >> 3)
	}
	return b
}()

// writeBytes writes N bytes of Pattern to stdout and stderr, side by side.
func writeBytes(_ context.Context, args []string, s Stdio) (int, error) {
	n, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return 2, err
	}
	done := make(chan error)
	for _, w := range []io.Writer{s.Stdout, s.Stderr} {
		go func() {
			_, err := io.CopyBuffer(struct{ io.Writer }{w}, io.LimitReader(new(Endless), n), make([]byte, len(Pattern)))
			done <- err
		}()
	}
	return 0, errors.Join(<-done, <-done)
}

// match reads stdin, which must be Pattern over and over, and says how many bytes it was.
func match(_ context.Context, _ []string, s Stdio) (int, error) {
	var m Matcher
	// The struct hides ReadFrom, which would copy 32 KiB at a time.
	_, err := io.CopyBuffer(struct{ io.Writer }{&m}, s.Stdin, make([]byte, len(Pattern)))
	fmt.Fprintln(s.Stdout, m.N)
	return 0, err
}

// Endless reads as Pattern over and over.
type Endless struct{ n int64 }

func (e *Endless) Read(p []byte) (int, error) {
	n := copy(p, Pattern[e.n%int64(len(Pattern)):])
	e.n += int64(n)
	return n, nil
}

// Matcher takes what Endless gives, and nothing else. N is how much that was.
type Matcher struct{ N int64 }

func (m *Matcher) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		want := Pattern[m.N%int64(len(Pattern)):]
		got := p[done:min(len(p), done+len(want))]
		if !bytes.Equal(got, want[:len(got)]) {
			return done, fmt.Errorf("after %d bytes come others", m.N)
		}
		done += len(got)
		m.N += int64(len(got))
	}
	return len(p), nil
}

// both writes N numbered lines to each of stdout and stderr, in turn.
func both(_ context.Context, args []string, s Stdio) (int, error) {
	n, err := strconv.Atoi(args[0])
	for i := range n {
		fmt.Fprintf(s.Stdout, "out %d\n", i)
		fmt.Fprintf(s.Stderr, "err %d\n", i)
	}
	return 0, err
}

func env(_ context.Context, _ []string, s Stdio) (int, error) {
	return 0, json.NewEncoder(s.Stdout).Encode(s.Env)
}

func printArgs(_ context.Context, args []string, s Stdio) (int, error) {
	return 0, json.NewEncoder(s.Stdout).Encode(args)
}

// hog takes N MiB of memory and touches it.
func hog(_ context.Context, args []string, s Stdio) (int, error) {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return 2, err
	}
	var held [][]byte
	for range n {
		held = append(held, bytes.Repeat([]byte{1}, 1<<20))
	}
	fmt.Fprintln(s.Stdout, len(held))
	return 0, nil
}

func file(_ context.Context, args []string, s Stdio) (int, error) {
	b, err := os.ReadFile(args[0])
	if err == nil {
		_, err = s.Stdout.Write(b)
	}
	return 0, err
}

func write(_ context.Context, args []string, _ Stdio) (int, error) {
	return 0, os.WriteFile(args[0], []byte("x"), 0o600)
}

// listen takes one TCP connection at an address and ends.
func listen(_ context.Context, args []string, s Stdio) (int, error) {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return 1, err
	}
	defer l.Close()
	fmt.Fprintln(s.Stdout, "ready")
	c, err := l.Accept()
	if err != nil {
		return 1, err
	}
	return 0, c.Close()
}

func dial(_ context.Context, args []string, _ Stdio) (int, error) {
	c, err := net.Dial("tcp", args[0])
	if err != nil {
		return 1, err
	}
	return 0, c.Close()
}

// lookup prints the addresses of a name.
func lookup(ctx context.Context, args []string, s Stdio) (int, error) {
	addresses, err := new(net.Resolver).LookupHost(ctx, args[0])
	for _, a := range addresses {
		fmt.Fprintln(s.Stdout, a)
	}
	return 0, err
}

// kill is the worker's verb: the probe stands in the worker's place in the suite's image.
func kill(ctx context.Context, args []string, _ Stdio) (int, error) {
	return 0, execkill.Kill(ctx, args[0])
}

// Proc is one process as `ps` lists it.
type Proc struct {
	PID  int    `json:"pid"`
	PPID int    `json:"ppid"`
	SID  int    `json:"sid"`
	Args string `json:"args"`
}

// Entry is a file, folder or link as `list` lists it.
type Entry struct {
	Mode string `json:"mode"`
	UID  uint32 `json:"uid"`
	GID  uint32 `json:"gid"`
	Size int64  `json:"size,omitempty"`
	Link string `json:"link,omitempty"`
}
