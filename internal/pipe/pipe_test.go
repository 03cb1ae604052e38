package pipe

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"
)

func open(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func readAll(t *testing.T, r io.Reader) []byte {
	t.Helper()
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What is there is read though the pipe stays open and its deadline is over; the deadline stays.
func TestReady(t *testing.T) {
	r, w := open(t)
	if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("word "), 10_000)
	if _, err := w.Write(want); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, Ready(r)); !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	if got := readAll(t, Ready(r)); len(got) != 0 {
		t.Errorf("%d bytes of an empty pipe", len(got))
	}
	if _, err := r.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("%v, want the deadline's", err)
	}
}

// A writer that never stops doesn't keep the reader.
func TestReadyEnds(t *testing.T) {
	r, w := open(t)
	go func() {
		for b := make([]byte, 4096); ; {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
	}()
	if got := readAll(t, Ready(r)); len(got) > most {
		t.Errorf("%d bytes are more than a pipe holds", len(got))
	}
}

func TestReadyOfClosed(t *testing.T) {
	r, w := open(t)
	if _, err := w.WriteString("last"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got := readAll(t, Ready(r)); string(got) != "last" {
		t.Errorf("%q", got)
	}
	r.Close()
	if got := readAll(t, Ready(r)); len(got) != 0 {
		t.Errorf("%d bytes of a pipe that was closed", len(got))
	}
}
