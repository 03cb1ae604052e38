package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// sum hashes and counts what is written through it.
type sum struct {
	w io.Writer
	h hash.Hash
	n int64
}

func newSum(w io.Writer) *sum { return &sum{w: w, h: sha256.New()} }

func (s *sum) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.h.Write(b[:n])
	s.n += int64(n)
	return n, err
}

func (s *sum) digest() string { return hex.EncodeToString(s.h.Sum(nil)) }

func sumReader(r io.Reader) (digest string, size int64, err error) {
	s := newSum(io.Discard)
	_, err = io.CopyBuffer(struct{ io.Writer }{s}, struct{ io.Reader }{r}, make([]byte, 1<<20))
	return s.digest(), s.n, err
}

// ctxWriter fails once its context is done, so that a long copy ends at Ctrl-C.
type ctxWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c ctxWriter) Write(b []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.w.Write(b)
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	return string(line)
}
