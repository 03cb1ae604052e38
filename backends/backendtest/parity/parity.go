// Package parity compares what an engine handed to its OCI runtime with what package oci asked for, field
// by field. It's for backends' tests: an engine may translate, add and leave out, and its own word for what
// it did proves nothing. What a field does in a running shard is another matter, and the self-check's.
package parity

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Absent is the Want or Got of a field that isn't there. Other values are JSON, {} for an object, whose
// parts are fields of their own.
const Absent = "absent"

// Difference is a field whose value isn't the one that was asked for. A field is named like
// "process.noNewPrivileges", "linux.maskedPaths[/proc/kcore]", "mounts[/tmp].options[size]" or
// "linux.seccomp.syscalls[clone]": elements of a list by what tells them apart.
type Difference struct{ Field, Want, Got string }

func (d Difference) String() string { return fmt.Sprintf("%s: %s -> %s", d.Field, d.Want, d.Got) }

// Compare reads config, a runtime's config.json, and tells where it isn't want, in the order of names.
// Lists that mean sets are compared as sets.
func Compare(want *specs.Spec, config []byte) ([]Difference, error) {
	asked, err := json.Marshal(want)
	if err != nil {
		return nil, err
	}
	w, err := values(asked)
	if err != nil {
		return nil, err
	}
	g, err := values(config)
	if err != nil {
		return nil, err
	}
	fields := maps.Clone(w)
	maps.Copy(fields, g)
	var all []Difference
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		if d := (Difference{f, orAbsent(w, f), orAbsent(g, f)}); d.Want != d.Got {
			all = append(all, d)
		}
	}
	return all, nil
}

func orAbsent(values map[string]string, field string) string {
	if v, ok := values[field]; ok {
		return v
	}
	return Absent
}

// values are a config's fields with what they hold.
func values(config []byte) (map[string]string, error) {
	doc, err := decode(config)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	walk(doc, func(n node) {
		if n.value != "" {
			all[n.field] = n.value
		}
	})
	return all, nil
}

// Allowed is a difference that may be. In Field and Got a * stands for any text.
type Allowed struct {
	Field, Got string
	// Why nothing is lost.
	Why string
	// Sometimes: not by every version, or not on every machine. Any other one must be there: it's what the
	// engine gives for what was asked, and the list has nothing in it that isn't so any more.
	Sometimes bool
}

// Judge takes the differences that may be out of all, and adds the allowed ones that must be and aren't.
func Judge(all []Difference, allowed []Allowed) []Difference {
	var rest []Difference
	used := make([]bool, len(allowed))
	for _, d := range all {
		i := slices.IndexFunc(allowed, func(a Allowed) bool { return Matches(a.Field, d.Field) && Matches(a.Got, d.Got) })
		if i < 0 {
			rest = append(rest, d)
		} else {
			used[i] = true
		}
	}
	for i, a := range allowed {
		if !used[i] && !a.Sometimes {
			rest = append(rest, Difference{a.Field, a.Got, "not so"})
		}
	}
	return rest
}

// Matches tells whether text is as pattern says, where * stands for any.
func Matches(pattern, text string) bool {
	r := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`)
	return regexp.MustCompile(`(?s)^` + r + `$`).MatchString(text)
}

// Names tells whether one of the differences is in a field or in a part of it.
func Names(all []Difference, field string) bool {
	return slices.ContainsFunc(all, func(d Difference) bool {
		rest, ok := strings.CutPrefix(d.Field, field)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[' || rest[0] == '#')
	})
}
