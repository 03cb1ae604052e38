package jsonpos

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParse(t *testing.T) {
	data := "{\"a\": [1.50, \"x\\n\"],\n \"é\" :{ \"b\":true,\"c\" : null}}\n"
	d, err := Parse("f.json", []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	want := &Node{Kind: Object, Members: []Member{
		{Key: "a", Value: &Node{Kind: Array, Items: []*Node{
			{Kind: Number, Number: "1.50"}, {Kind: String, Text: "x\n"},
		}}},
		{Key: "é", Value: &Node{Kind: Object, Members: []Member{
			{Key: "b", Value: &Node{Kind: Bool, Truth: true}}, {Key: "c", Value: &Node{Kind: Null}},
		}}},
	}}
	if diff := cmp.Diff(want, d.Root, cmpopts.IgnoreFields(Node{}, "Start", "End"), cmpopts.IgnoreFields(Member{}, "Start")); diff != "" {
		t.Error(diff)
	}
	for place, n := range map[string]*Node{
		"f.json:1:1": d.Root, "f.json:1:7": d.Root.Get("a"), "f.json:1:14": d.Root.Get("a").Items[1],
		"f.json:2:8": d.Root.Get("é"), "f.json:2:14": d.Root.Get("é").Get("b"), "f.json:2:25": d.Root.Get("é").Get("c"),
	} {
		if got := d.Place(n.Start).String(); got != place {
			t.Errorf("got %s, want %s", got, place)
		}
	}
	if got := d.Place(d.Root.Members[1].Start).String(); got != "f.json:2:2" {
		t.Errorf("key é at %s", got)
	}
	if got := string(d.Raw(d.Root.Get("é"))); got != `{"b":true,"c":null}` {
		t.Errorf("raw: %s", got)
	}
	if d.Root.Get("a").Get("b") != nil || d.Raw(nil) != nil {
		t.Error("what isn't there was found")
	}
}

func TestPlaceOfFile(t *testing.T) {
	if got := (Place{File: "f"}).String(); got != "f" {
		t.Error(got)
	}
}

// TestErrors: each says where and what to do.
func TestErrors(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+2)
	for in, want := range map[string]string{
		"":                          "f:1:1: the JSON ends too early; a bracket or a quote isn't closed",
		"{\n\"a\": [":               "f:2:6: the JSON ends too early",
		`{"a`:                       "f:1:3: the JSON ends too early",
		`[,]`:                       "f:1:2: isn't JSON: invalid character ','",
		`[1,,2]`:                    "f:1:4: isn't JSON: invalid character ','",
		`[1,]`:                      "f:1:4: isn't JSON: invalid character ']'",
		`[1 2]`:                     "f:1:4: isn't JSON: invalid character '2' after array element",
		`{"a" 1}`:                   "f:1:6: isn't JSON: invalid character '1' after object key",
		`{"a",1}`:                   "f:1:5: isn't JSON: invalid character ','",
		`{"a":1,}`:                  "f:1:8: isn't JSON: invalid character '}'",
		`{"a":1 "b":2}`:             "f:1:8: isn't JSON: invalid character '\"'",
		`{1:2}`:                     "f:1:2: isn't JSON: invalid character '1'",
		"// note\n{}":               "f:1:1: isn't JSON: invalid character '/'",
		`[1]}`:                      "f:1:4: text after the end of the JSON value; remove it",
		"{}\n\n[]":                  "f:3:1: text after the end",
		`{},`:                       "f:1:3: text after the end",
		"{\"a\":1,\n\"\\u0061\":2}": `f:2:1: "a" is given twice in one object; keep one`,
		"\xef\xbb\xbf{}":            "f:1:1: starts with a byte order mark",
		"[\n\"\xff\"]":              "f:2:2: isn't UTF-8 from here",
		deep:                        "f:1:202: is nested deeper than 200 levels",
	} {
		_, err := Parse("f", []byte(in))
		if !errors.As(err, new(*Error)) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %s", in, err, want)
		}
	}
}

// FuzzParse: no input panics; an error has a place inside the file; what is accepted is JSON, and
// each value is what stands at its place.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "{", "[1,2", "{\"a\"", "\"x", "nul", "{}{}", "{\"a\":{\"a\":1,\"a\":2}}", "\xff", "1e999", "[,1]", "{\"a\",:1}",
		"{\"a\": [1.50, \"x\\n\"],\n \"é\" :{ \"b\":true,\"c\" : null}}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse("f", data)
		if err == nil {
			if !json.Valid(data) {
				t.Errorf("accepted what isn't JSON: %q", data)
			}
			stands(t, data, d.Root)
			return
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Msg == "" {
			t.Fatalf("%q: %v", data, err)
		}
		if lines := strings.Split(string(data), "\n"); e.Place.Line > len(lines) || e.Place.Col > len(lines[e.Place.Line-1])+1 {
			t.Errorf("%q: place outside the file: %v", data, err)
		}
	})
}

// stands compares a value with the one that encoding/json reads at its place.
func stands(t *testing.T, data []byte, n *Node) {
	var v any
	d := json.NewDecoder(strings.NewReader(string(data[n.Start:n.End])))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %d to %d: %v", data, n.Start, n.End, err)
	}
	want := Null
	switch v := v.(type) {
	case map[string]any:
		want = Object
		if len(v) != len(n.Members) {
			t.Errorf("%q: %d members of %d", data, len(n.Members), len(v))
		}
	case []any:
		want = Array
		if len(v) != len(n.Items) {
			t.Errorf("%q: %d items of %d", data, len(n.Items), len(v))
		}
	case string:
		want = String
		if v != n.Text {
			t.Errorf("%q: text %q, want %q", data, n.Text, v)
		}
	case json.Number:
		want = Number
	case bool:
		want = Bool
	}
	if n.Kind != want {
		t.Errorf("%q: %d to %d is %s, want %s", data, n.Start, n.End, n.Kind, want)
	}
	for _, m := range n.Members {
		stands(t, data, m.Value)
	}
	for _, i := range n.Items {
		stands(t, data, i)
	}
}
