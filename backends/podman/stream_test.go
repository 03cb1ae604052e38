package podman

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func frame(stream byte, payload string) []byte {
	n := len(payload)
	return append([]byte{stream, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, payload...)
}

func TestDemux(t *testing.T) {
	in := bytes.Join([][]byte{frame(1, "out"), frame(2, "err"), frame(1, ""), frame(1, "put")}, nil)
	var stdout, stderr bytes.Buffer
	if err := demux(iotest.OneByteReader(bytes.NewReader(in)), &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	if stdout.String() != "output" || stderr.String() != "err" {
		t.Errorf("stdout %q, stderr %q", &stdout, &stderr)
	}
	if err := demux(bytes.NewReader(in), nil, nil); err != nil {
		t.Error(err)
	}
}

func TestDemuxErrors(t *testing.T) {
	for name, in := range map[string][]byte{
		"cut in a header":  frame(1, "x")[:5],
		"cut in a payload": frame(1, "payload")[:10],
		"unknown stream":   frame(7, "x"),
		"text":             []byte("HTTP/1.1 500"),
	} {
		if err := demux(bytes.NewReader(in), io.Discard, io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	broken := errors.New("broken")
	err := demux(io.MultiReader(bytes.NewReader(frame(1, "x")), iotest.ErrReader(broken)), io.Discard, io.Discard)
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
