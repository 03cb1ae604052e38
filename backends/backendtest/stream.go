package backendtest

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends/backendtest/probe"
)

// streamCases are about lengths that nobody holds in memory.
var streamCases = []testCase{
	{"exec: 1 GiB of stdin", "", func(t *testing.T, e *env) {
		n := int64(1 << 30)
		if testing.Short() {
			n = 64 << 20
		}
		s := e.started(t)
		var said strings.Builder
		in := &metered{Reader: io.LimitReader(new(probe.Endless), n)}
		p := probeProcess("match")
		p.Stdin, p.Stdout, p.Stderr = in, &said, &said
		before := taken(t)
		if st, err := s.Exec(e.context(t), p); err != nil || st.Code != 0 || said.String() != fmt.Sprintln(n) {
			t.Fatalf("%v, %v: %s", st, err, said.String())
		}
		in.most.within(t, before)
	}},
	{"exec: 100 MiB of stdout and of stderr", "", func(t *testing.T, e *env) {
		n := int64(100 << 20)
		if testing.Short() {
			n = 4 << 20
		}
		s := e.started(t)
		var stdout, stderr probe.Matcher
		p := probeProcess("bytes", fmt.Sprint(n))
		out := &metered{Writer: &stdout}
		p.Stdout, p.Stderr = out, &stderr
		before := taken(t)
		if st, err := s.Exec(e.context(t), p); err != nil || st.Code != 0 {
			t.Fatalf("%v, %v", st, err)
		}
		if stdout.N != n || stderr.N != n {
			t.Errorf("%d and %d bytes of %d", stdout.N, stderr.N, n)
		}
		out.most.within(t, before)
	}},
}

// memory is what this process takes, in bytes: what is live on its heap, and what the kernel gives it (0 where
// that can't be told).
type memory struct{ heap, resident int64 }

func taken(t *testing.T) memory {
	t.Helper()
	debug.FreeOSMemory()
	return now()
}

// now collects garbage: what nobody holds isn't counted.
func now() memory {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var pages, resident int64
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		_, _ = fmt.Sscan(string(b), &pages, &resident)
	}
	return memory{int64(m.HeapAlloc), resident * int64(os.Getpagesize())}
}

// flat is what a stream of any length may add to this process: buffers, and never the content.
const flat = 48 << 20

func (most memory) within(t *testing.T, before memory) {
	t.Helper()
	t.Logf("heap %d MiB more, resident %d MiB", (most.heap-before.heap)>>20, (most.resident-before.resident)>>20)
	if most.heap > before.heap+flat || most.resident > before.resident+flat {
		t.Errorf("while it went by, %+v was taken, and %+v before", most, before)
	}
}

// metered looks at this process's memory while a stream goes by, every so many bytes.
type metered struct {
	io.Reader
	io.Writer
	n, next int64
	most    memory
}

const meterEvery = 16 << 20

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.count(n)
	return n, err
}

func (m *metered) Write(p []byte) (int, error) {
	n, err := m.Writer.Write(p)
	m.count(n)
	return n, err
}

func (m *metered) count(n int) {
	if m.n += int64(n); m.n < m.next {
		return
	}
	m.next += meterEvery
	got := now()
	m.most.heap, m.most.resident = max(m.most.heap, got.heap), max(m.most.resident, got.resident)
}
