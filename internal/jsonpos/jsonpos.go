// Package jsonpos reads JSON that people write: strictly, and into a tree that knows where each value
// stands, so that whatever is found wrong with it can be said with file, line and column. What keys
// and values mean is its callers'; JSON that programs write is for encoding/json.
package jsonpos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
)

// Place is where in a file; Line and Col count from 1, Col in bytes. Line 0 is the file as a whole.
type Place struct {
	File      string
	Line, Col int
}

func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Kind of a JSON value, in words that fit behind "must be".
type Kind string

// The kinds.
const (
	Object Kind = "an object"
	Array  Kind = "a list"
	String Kind = "a string"
	Number Kind = "a number"
	Bool   Kind = "true or false"
	Null   Kind = "null"
)

// Node is one value. Of the fields behind End only those of its Kind are set.
type Node struct {
	Kind       Kind
	Start, End int // byte offsets, of its first byte and behind its last

	Text    string // of a String
	Number  json.Number
	Truth   bool // of a Bool
	Members []Member
	Items   []*Node
}

// Member of an object, in the file's order. Keys differ within an object.
type Member struct {
	Key   string
	Start int // of the key
	Value *Node
}

// Get gives a member's value; nil when there is none, as in what isn't an object.
func (n *Node) Get(key string) *Node {
	for _, m := range n.Members {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// Document is a file that was read.
type Document struct {
	Name string
	Root *Node

	data  []byte
	lines []int // offsets where they start
}

func newDocument(name string, data []byte) *Document {
	d := &Document{Name: name, data: data, lines: []int{0}}
	for i, b := range data {
		if b == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	return d
}

// Place is that of a byte offset.
func (d *Document) Place(offset int) Place {
	line := sort.SearchInts(d.lines, offset+1)
	return Place{File: d.Name, Line: line, Col: offset - d.lines[line-1] + 1}
}

// last is the offset of the last byte, 0 in an empty file.
func (d *Document) last() int { return max(len(d.data)-1, 0) }

// Raw is n as it stands in the file, without white space; nil for nil.
func (d *Document) Raw(n *Node) json.RawMessage {
	var b bytes.Buffer
	if n == nil || json.Compact(&b, d.data[n.Start:n.End]) != nil {
		return nil
	}
	return b.Bytes()
}
