package rollout

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestLongRecord follows a record of 30 MiB as it grows. What is kept of it is its turn: the rest is
// read once and let go.
func TestLongRecord(t *testing.T) {
	text := recorded(t, "answer")
	end := bytes.Index(text, []byte(`"task_complete"`))
	end = bytes.LastIndexByte(text[:end], '\n') + 1
	home := t.TempDir()
	path := put(t, home, "a", text[:end])
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := Open(path, nil)
	if _, err := r.Poll(); err != nil {
		t.Fatal(err)
	}
	var chunk bytes.Buffer
	for i := range 256 {
		fmt.Fprintf(&chunk, `{"type":"response_item","payload":{"type":"reasoning","summary":[],"encrypted_content":"%04d%s"}}`+"\n", i, strings.Repeat("x", 4000))
	}
	before := heap()
	for size := int64(end); size+int64(chunk.Len()) < 30<<20; {
		if _, err := f.Write(chunk.Bytes()); err != nil {
			t.Fatal(err)
		}
		size += int64(chunk.Len())
		if grew, err := r.Poll(); !grew || err != nil || r.Size() != size {
			t.Fatalf("at %d bytes: grew %v, size %d, error %v", size, grew, r.Size(), err)
		}
		if kept := heap() - before; kept > 2<<20 {
			t.Fatalf("at %d bytes it keeps %d", size, kept)
		}
	}
	if _, err := f.Write(text[end:]); err != nil {
		t.Fatal(err)
	}
	read := allocated(func() {
		if _, err := r.Poll(); err != nil {
			t.Fatal(err)
		}
	})
	if read > 1<<20 {
		t.Errorf("for the %d bytes at the end it took %d", len(text)-end, read)
	}
	if turns := r.Turns(); len(turns) != 1 || !turns[0].Answered() {
		t.Errorf("turns %+v", turns)
	}
}

// heap is what is in use once nothing else is.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// allocated is all that is allocated while do is done.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
