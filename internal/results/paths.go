package results

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/berth-run/berth/internal/shardproto"
)

// DefaultDir holds the folders of evals when nothing else is said.
const DefaultDir = ".mcp-test-results"

var runIDForm = regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-f]{6}(\.g\d+)?$`)

// runIDTime is how an id begins.
const runIDTime = "20060102T150405Z"

// NextRunID is NewRunID for a run in an eval's folder. If the clock was set back since the last one there, the
// id has a time after that one's, so that the latest is the one that was started last.
func NextRunID(evalDir string, t time.Time) string {
	ids, _ := runIDs(filepath.Join(evalDir, "runs")) // who makes the run's folder says what is wrong with it
	if len(ids) > 0 {
		last, err := time.Parse(runIDTime, ids[len(ids)-1][:len(runIDTime)])
		if err == nil && last.After(t) {
			t = last.Add(time.Second)
		}
	}
	return NewRunID(t)
}

// NewRunID names a run that started at t; ids sort by time.
func NewRunID(t time.Time) string {
	var b [3]byte
	// It never fails; see crypto/rand.
	_, _ = rand.Read(b[:])
	return t.UTC().Format(runIDTime) + "-" + hex.EncodeToString(b[:])
}

// EvalDir is the folder of an eval: outputDir when the user named one, or else a folder of the
// eval's name in base.
func EvalDir(outputDir, base, evalName string) string {
	if outputDir != "" {
		return outputDir
	}
	return filepath.Join(base, Segment(evalName))
}

// maxSegment bounds a path segment, in bytes; file systems take 255, and temporary names need some.
const maxSegment = 200

// Segment is a name as one path segment: JavaScript's encodeURIComponent, with * and a leading or
// trailing dot encoded too. A longer one than maxSegment is cut and ends with ~ and a hash of the
// whole.
func Segment(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		edge := c == '.' && (i == 0 || i == len(name)-1)
		if plainByte(c) && !edge {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	s := b.String()
	if len(s) <= maxSegment {
		return s
	}
	sum := sha256.Sum256([]byte(name))
	return s[:wholeEscapes(s, maxSegment-17)] + "~" + hex.EncodeToString(sum[:8])
}

// plainByte tells whether encodeURIComponent leaves c, * aside.
func plainByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.!~'()", c) >= 0
}

// wholeEscapes is the greatest length up to n that cuts no %XX in two.
func wholeEscapes(s string, n int) int {
	for _, back := range []int{1, 2} {
		if n >= back && s[n-back] == '%' {
			return n - back
		}
	}
	return n
}

// TracePath is where a trial's file is, relative to the run's folder.
func TracePath(k shardproto.Key) string { return filepath.Join("traces", keyPath(k)) }

// ScorePath is where one grader's score for a trial is, relative to the run's folder.
func ScorePath(grader string, k shardproto.Key) string {
	return filepath.Join("scores", Segment(grader), keyPath(k))
}

func keyPath(k shardproto.Key) string {
	return filepath.Join(Segment(k.Variant), Segment(k.CaseID), strconv.Itoa(k.Trial)+".json")
}

// validName refuses what can't be a path segment at all.
func validName(name string) error {
	if name == "" || !utf8.ValidString(name) {
		return fmt.Errorf("%q can't name a file", name)
	}
	return nil
}
