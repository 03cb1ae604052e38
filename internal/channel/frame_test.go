package channel

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestFrames(t *testing.T) {
	tests := []struct {
		kind    kind
		payload string
	}{{kindHeader, `{"op":"keep"}`}, {kindData, ""}, {kindData, strings.Repeat("x", dataMax)}, {kindEnd, ""}, {kindAck, "12345678"}}
	var b bytes.Buffer
	for _, tt := range tests {
		if err := writeFrame(&b, tt.kind, []byte(tt.payload)); err != nil {
			t.Fatal(err)
		}
	}
	r := iotest.OneByteReader(&b)
	for _, tt := range tests {
		if k, p, err := readFrame(r); k != tt.kind || string(p) != tt.payload || err != nil {
			t.Errorf("got frame %q of %d bytes, %v; want %q of %d", k, len(p), err, tt.kind, len(tt.payload))
		}
	}
	if _, _, err := readFrame(r); !errors.Is(err, io.EOF) {
		t.Errorf("after the last frame: %v, want io.EOF", err)
	}
}

func TestFramesThatAreRefused(t *testing.T) {
	tests := map[string]struct {
		bytes string
		want  error
	}{
		"unknown kind":     {"z\x00\x00\x00\x00", ErrProtocol},
		"too long":         {"h\x00\x01\x00\x01", ErrProtocol},
		"4 GiB":            {"d\xff\xff\xff\xff", ErrProtocol},
		"end with payload": {"e\x00\x00\x00\x01x", ErrProtocol},
		"cut in the head":  {"h\x00", io.ErrUnexpectedEOF},
		"cut after head":   {"h\x00\x00\x00\x02", io.ErrUnexpectedEOF},
		"cut in payload":   {"h\x00\x00\x00\x02{", io.ErrUnexpectedEOF},
	}
	for name, tt := range tests {
		if _, _, err := readFrame(strings.NewReader(tt.bytes)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if err := writeFrame(io.Discard, kindHeader, make([]byte, headerMax+1)); !errors.Is(err, ErrInvalid) {
		t.Errorf("a header too long was written: %v", err)
	}
}

func TestDataReader(t *testing.T) {
	var b bytes.Buffer
	w := newFrameWriter(&b, kindData, 10)
	io.WriteString(w, "0123456789abc")
	w.ReadFrom(strings.NewReader("rest"))
	cut := bytes.Clone(b.Bytes())
	writeFrame(&b, kindEnd, nil)
	writeFrame(&b, kindData, []byte("next"))
	if got, err := io.ReadAll(&dataReader{r: &b}); string(got) != "0123456789abcrest" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if got, err := io.ReadAll(&dataReader{r: bytes.NewReader(cut)}); string(got) != "0123456789abcrest" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("without the end frame: %q, %v; want io.ErrUnexpectedEOF", got, err)
	}
	b.Reset()
	writeReply(&b, nil, ErrFailed)
	if _, err := io.ReadAll(&dataReader{r: &b}); !errors.Is(err, ErrFailed) || err.Error() != ErrFailed.Error() {
		t.Errorf("a reply in the data: %v, want its error", err)
	}
}

func TestErrorsKeepTheirClass(t *testing.T) {
	for _, want := range []error{ErrStale, ErrProtocol, ErrInvalid, ErrFailed} {
		var b bytes.Buffer
		if err := writeReply(&b, nil, want); err != nil {
			t.Fatal(err)
		}
		if err := readReply(&b, nil); !errors.Is(err, want) {
			t.Errorf("%v came over as %v", want, err)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("h\x00\x00\x00\x02{}e\x00\x00\x00\x00"))
	f.Add([]byte("m\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00\x01x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, p, err := readFrame(bytes.NewReader(b))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := writeFrame(&again, k, p); err != nil || !bytes.HasPrefix(b, again.Bytes()) {
			t.Errorf("frame %q of %d bytes is written as something else (%v)", k, len(p), err)
		}
	})
}

func FuzzParseHeader(f *testing.F) {
	f.Add([]byte(`{"op":"attach","attach":{"protocol":2,"lease":"l","generation":1,"seen":0}}`))
	f.Add([]byte(`{"op":"command","command":{"args":["a"],"env":["A=b"],"stdin":true}}`))
	f.Add([]byte(`{"op":"keep"}{"op":"shutdown"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHeader(b)
		if err != nil {
			if !errors.Is(err, ErrProtocol) {
				t.Errorf("%v isn't ErrProtocol", err)
			}
			return
		}
		var out bytes.Buffer
		if writeHeader(&out, h) != nil {
			return // longer than a header may be, once escaped
		}
		again, err := readHeader(&out)
		if err != nil || !cmp.Equal(h, again) {
			t.Errorf("header changed on the way: %v\n%s", err, cmp.Diff(h, again))
		}
	})
}

func FuzzReceive(f *testing.F) {
	f.Add([]byte("m\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00\x01xa\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, in := NewLog(), NewInbox()
		if err := out.Append(t.Context(), []byte("one")); err != nil {
			t.Fatal(err)
		}
		if err := receive(bytes.NewReader(b), out, in); err == nil {
			t.Error("the end of the stream is no error")
		}
		if out.Acked() > 1 {
			t.Errorf("%d messages acknowledged of one", out.Acked())
		}
	})
}
