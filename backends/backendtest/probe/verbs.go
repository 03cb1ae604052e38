package probe

import (
	"bytes"
	"context"
	"encoding/json"
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

// writeBytes writes N bytes of Pattern to stdout.
func writeBytes(_ context.Context, args []string, s Stdio) (int, error) {
	n, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return 2, err
	}
	for n > 0 && err == nil {
		var w int
		w, err = s.Stdout.Write(Pattern[:min(n, int64(len(Pattern)))])
		n -= int64(w)
	}
	return 0, err
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
