package backendtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest/probe"
)

// probeProcess is an exec of `probe ARGS`.
func probeProcess(args ...string) backends.Process {
	return backends.Process{Args: append([]string{ProbePath}, args...)}
}

var execCases = []testCase{
	{"exec: stdin", "", func(t *testing.T, e *env) {
		s := e.started(t)
		for _, n := range []int{0, 1, 10, 10 << 20} { // podman#7360, containerd#2439
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				in := slices.Repeat(probe.Pattern, n/len(probe.Pattern)+1)[:n]
				got := e.output(t, s, in, "cat")
				if !bytes.Equal(got, in) {
					t.Errorf("%d bytes came back of %d, or other ones", len(got), n)
				}
			})
		}
	}},
	{"exec: every byte of stdin, one at a time", "", func(t *testing.T, e *env) {
		// An engine that looks for keys to detach at, ctrl-p ctrl-q, finds them here.
		in := []byte{0, 16, 17, 1, 2, 3, 4, 26, 28, 16, 17, 255, '\r', '\n'}
		s := e.started(t)
		var out bytes.Buffer
		p := probeProcess("cat")
		pr, pw := io.Pipe()
		echo := newReady()
		p.Stdin, p.Stdout = pr, io.MultiWriter(&out, echo)
		done := make(chan error, 1)
		go func() {
			_, err := s.Exec(e.context(t), p)
			pr.CloseWithError(io.ErrClosedPipe) // so that no write waits for one that has ended
			done <- err
		}()
		for _, b := range in {
			if _, err := pw.Write([]byte{b}); err != nil {
				t.Fatal(err)
			}
			echo.wait(t)
		}
		pw.Close()
		if err := <-done; err != nil || !bytes.Equal(out.Bytes(), in) {
			t.Errorf("%v came back, %v", out.Bytes(), err)
		}
	}},
	{"exec: stdin that nobody ends", "", func(t *testing.T, e *env) {
		s := e.started(t)
		p := probeProcess("exit", "5")
		pr, pw := io.Pipe()
		defer pw.Close()
		p.Stdin = pr
		if got, err := s.Exec(e.context(t), p); err != nil || got.Code != 5 {
			t.Errorf("%v, %v", got, err)
		}
	}},
	{"exec: stdin that fails", "", func(t *testing.T, e *env) {
		s := e.started(t)
		cut := errors.New("cut")
		p := probeProcess("cat")
		p.Stdin = io.MultiReader(strings.NewReader("half"), failingReader{cut})
		_, err := s.Exec(e.context(t), p)
		wantErr(t, "Exec", err, cut)
	}},
	{"exec: streams apart", "", func(t *testing.T, e *env) {
		s := e.started(t)
		var stdout, stderr bytes.Buffer
		p := probeProcess("both", "1000")
		p.Stdout, p.Stderr = &stdout, &stderr
		if got, err := s.Exec(e.context(t), p); err != nil || got.Code != 0 {
			t.Fatalf("%v, %v", got, err)
		}
		for name, got := range map[string]string{"out": stdout.String(), "err": stderr.String()} {
			var want strings.Builder
			for i := range 1000 {
				fmt.Fprintf(&want, "%s %d\n", name, i)
			}
			if got != want.String() {
				t.Errorf("std%s has %d bytes, want %d", name, len(got), want.Len())
			}
		}
	}},
	{"exec: status", "", testStatus},
	{"exec: killed", "Isolation", func(t *testing.T, e *env) {
		s := e.started(t)
		if got, err := s.Exec(e.context(t), probeProcess("raise", "9")); err != nil || got.Code != 137 {
			t.Errorf("%v, %v, want 137", got, err)
		}
	}},
	{"exec: arguments and environment", "", testArguments},
	{"exec: invalid", "", func(t *testing.T, e *env) {
		s := e.started(t)
		_, err := s.Exec(e.context(t), backends.Process{})
		wantErr(t, "no command", err, backends.ErrInvalid)
		_, err = s.Exec(e.context(t), backends.Process{Args: []string{ProbePath}, Env: []string{"x"}})
		wantErr(t, "environment", err, backends.ErrInvalid)
	}},
	{"exec: side by side", "", func(t *testing.T, e *env) {
		s := e.started(t)
		// Each waits for the next one's first byte before it writes its own.
		const n = 4
		var wg sync.WaitGroup
		links := make([]*io.PipeWriter, n)
		readers := make([]*io.PipeReader, n)
		for i := range n {
			readers[i], links[i] = io.Pipe()
		}
		for i := range n {
			wg.Go(func() {
				p := probeProcess("cat")
				p.Stdin = readers[i]
				if i+1 < n {
					p.Stdout = links[i+1]
				}
				st, err := s.Exec(e.context(t), p)
				readers[i].Close()
				if err != nil || st.Code != 0 {
					t.Errorf("exec %d: %v, %v", i, st, err)
				}
				if i+1 < n {
					links[i+1].Close()
				}
			})
		}
		fmt.Fprint(links[0], "round")
		links[0].Close()
		wg.Wait()
	}},
	{"exec: a child holds the output", "Isolation", func(t *testing.T, e *env) {
		s := e.started(t)
		if got, err := s.Exec(e.context(t), probeProcess("orphan")); err != nil || got.Code != 0 {
			t.Errorf("%v, %v", got, err)
		}
	}},
	{"exec: output that can't be written", "", func(t *testing.T, e *env) {
		s := e.started(t)
		full := errors.New("full")
		p := probeProcess("bytes", "1000000")
		p.Stdout = failingWriter{full}
		_, err := s.Exec(e.context(t), p)
		wantErr(t, "Exec", err, full)
	}},
}

func testStatus(t *testing.T, e *env) {
	s := e.started(t)
	tests := []struct {
		args []string
		want int
	}{
		{[]string{ProbePath, "exit", "0"}, 0},
		{[]string{ProbePath, "exit", "1"}, 1},
		{[]string{ProbePath, "exit", "137"}, 137}, // which isn't OOM
		{[]string{ProbePath, "exit", "255"}, 255},
		{[]string{NotExecutable}, 126},
		{[]string{"/no/such/program"}, 127},
		{[]string{"no-such-program"}, 127},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.want, tt.args), func(t *testing.T) {
			got, err := s.Exec(e.context(t), backends.Process{Args: tt.args})
			if err != nil || got != (backends.ExitStatus{Code: tt.want}) {
				t.Errorf("%v, %v, want %d", got, err, tt.want)
			}
		})
	}
}

func testArguments(t *testing.T, e *env) {
	c := e.config(t)
	c.Spec.Process.Env = append(c.Spec.Process.Env, "PID1=a=b c\n", "BOTH=1")
	s := e.create(t, c)
	if err := s.Start(e.context(t)); err != nil {
		t.Fatal(err)
	}
	args := []string{"", "a b", "ü\n", `"'\$`, "-x"}
	var got []string
	e.decode(t, s, probeProcess(append([]string{"args"}, args...)...), &got)
	if !slices.Equal(got, args) {
		t.Errorf("arguments %q, want %q", got, args)
	}
	p := probeProcess("env")
	p.Env = []string{"EXEC=x=y", "BOTH=2", "EMPTY="}
	e.decode(t, s, p, &got)
	for _, want := range append(c.Spec.Process.Env[:len(c.Spec.Process.Env)-1], p.Env...) {
		if !slices.Contains(got, want) {
			t.Errorf("environment lacks %q", want)
		}
	}
	for _, v := range got {
		if strings.HasPrefix(v, "FROM_IMAGE=") || v == "BOTH=1" {
			t.Errorf("environment has %q", v)
		}
	}
}

// output runs an exec of the probe that must end with 0.
func (e *env) output(t *testing.T, s backends.Shard, stdin []byte, args ...string) []byte {
	t.Helper()
	p := probeProcess(args...)
	if stdin != nil {
		p.Stdin = bytes.NewReader(stdin)
	}
	return e.exec(t, s, p)
}

func (e *env) exec(t *testing.T, s backends.Shard, p backends.Process) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p.Stdout, p.Stderr = &stdout, &stderr
	got, err := s.Exec(e.context(t), p)
	if err != nil || got.Code != 0 {
		t.Fatalf("exec of %v: %v, %v: %s", p.Args, got, err, stderr.Bytes())
	}
	return stdout.Bytes()
}

func (e *env) decode(t *testing.T, s backends.Shard, p backends.Process, v any) {
	t.Helper()
	out := e.exec(t, s, p)
	if err := json.Unmarshal(out, v); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
}

// noProcesses checks that only PID 1 runs.
func (e *env) noProcesses(t *testing.T, s backends.Shard) {
	t.Helper()
	var left []probe.Proc
	e.decode(t, s, probeProcess("ps"), &left)
	if len(left) > 0 {
		t.Errorf("processes are left: %+v", left)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// ready is a writer that tells of each write.
type ready struct{ c chan struct{} }

func newReady() ready { return ready{make(chan struct{}, 1024)} }

func (r ready) Write(p []byte) (int, error) {
	r.c <- struct{}{}
	return len(p), nil
}

func (r ready) wait(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	select {
	case <-r.c:
	case <-ctx.Done():
		t.Fatal("nothing was written")
	}
}
