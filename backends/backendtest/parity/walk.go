package parity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// node is what has a name in a config: a value, an object, a list or an element of one.
type node struct {
	field string
	// value is as Difference has it, "" for a list: what is in it says all.
	value string
	// remove takes it out of the document that was walked.
	remove func()
}

func decode(config []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(config))
	d.UseNumber() // ids beyond what a float holds
	var doc map[string]any
	return doc, d.Decode(&doc)
}

// walk visits all of a document's nodes, objects and lists before their parts.
func walk(doc map[string]any, visit func(node)) { walker{visit, map[string]bool{}}.object("", doc) }

type walker struct {
	visit func(node)
	// seen are the fields so far: a second one of a name is another.
	seen map[string]bool
}

func (w walker) object(field string, o map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		name := strings.TrimPrefix(field+"."+key, ".")
		remove := func() { delete(o, key) }
		if list, ok := o[key].([]any); ok {
			w.list(name, key, list, remove, func(shorter []any) { o[key] = shorter })
		} else {
			w.value(name, o[key], remove)
		}
	}
}

func (w walker) value(field string, v any, remove func()) {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		w.visit(node{field, "{}", remove})
		w.object(field, v)
	default:
		w.visit(node{field, text(v), remove})
	}
}

// list visits a list, which is there if it has elements, and those.
func (w walker) list(field, key string, list []any, remove func(), set func([]any)) {
	if len(list) == 0 {
		return
	}
	if key == "args" { // the order counts
		w.visit(node{field, text(list), remove})
		return
	}
	w.visit(node{field: field, remove: remove})
	for i, v := range list {
		without := func() { set(slices.Delete(list, i, i+1)) }
		switch v := v.(type) {
		case string:
			name, value := element(key, v)
			w.visit(node{w.another(field, name, key), value, without})
		case map[string]any:
			if key == "syscalls" {
				w.rule(field, v)
				continue
			}
			w.value(w.another(field, identity(key, v, i), key), v, without)
		default:
			w.value(w.another(field, strconv.Itoa(i), key), v, without)
		}
	}
}

// another names an element. Of mounts, variables and options with the same name each counts; a path or a
// capability that is there twice is there.
func (w walker) another(field, name, key string) string {
	full := fmt.Sprintf("%s[%s]", field, name)
	if key == "maskedPaths" || key == "readonlyPaths" {
		return full
	}
	return w.unique(full)
}

func (w walker) unique(name string) string {
	unique := name
	for i := 2; w.seen[unique]; i++ {
		unique = fmt.Sprintf("%s#%d", name, i)
	}
	w.seen[unique] = true
	return unique
}

// element splits a string of a list into its name and what it says.
func element(key, s string) (name, value string) {
	switch key {
	case "env":
		name, value, _ = strings.Cut(s, "=")
		return name, text(value)
	case "options":
		name, value, _ = strings.Cut(s, "=")
		return name, text(number(name, value))
	}
	return s, "true"
}

// number writes a mount option's the one way: a mode without zeros before it, a size in bytes.
func number(option, value string) string {
	base, unit := 10, int64(1)
	switch option {
	case "mode", "ptmxmode":
		base = 8
	case "size":
		if i := strings.IndexAny(value, "kmg"); i > 0 && i == len(value)-1 {
			unit = map[byte]int64{'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30}[value[i]]
			value = value[:i]
		}
	default:
		return value
	}
	n, err := strconv.ParseInt(value, base, 64)
	if err != nil {
		return value
	}
	return strconv.FormatInt(n*unit, base)
}

// identity is what tells an object of a list from the others.
func identity(key string, o map[string]any, place int) string {
	by := map[string]string{"mounts": "destination", "namespaces": "type", "rlimits": "type", "devices": "path"}
	if s, ok := o[by[key]].(string); ok {
		return s
	}
	return strconv.Itoa(place)
}

// rule visits the system calls of one of seccomp's rules, each with all that the rule says of it. Their
// order and grouping mean nothing; of two rules for one call each counts.
func (w walker) rule(field string, rule map[string]any) {
	names, _ := rule["names"].([]any)
	says := maps.Clone(rule)
	delete(says, "names")
	value, args := text(says), ""
	if says["args"] != nil {
		args = " " + text(says["args"])
	}
	if len(names) == 0 {
		w.visit(node{w.unique(field + "[]"), value, func() { clear(rule) }})
	}
	for i, name := range names {
		call := fmt.Sprintf("%s[%v%s]", field, name, args)
		w.visit(node{w.unique(call), value, func() { rule["names"] = slices.Delete(names, i, i+1) }})
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("parity: %v", err)) // it came of JSON
	}
	return string(b)
}
