package parity

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

func marshal(t *testing.T, spec *specs.Spec) []byte {
	t.Helper()
	b, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEveryFieldOfAShard takes out of a shard's spec whatever is in it.
func TestEveryFieldOfAShard(t *testing.T) {
	spec := Spec(t)
	if d, err := Compare(spec, marshal(t, spec)); err != nil || len(d) > 0 {
		t.Fatalf("of itself it differs in %v, %v", d, err)
	}
	fields, err := Fields(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"process.noNewPrivileges", "process.capabilities", "process.user.umask", "process.rlimits[RLIMIT_CORE]", "root.readonly",
		"linux.seccomp", "linux.seccomp.syscalls[read]", "linux.maskedPaths[/proc/kcore]", "linux.readonlyPaths[/proc/sys]",
		"linux.namespaces[pid]", "linux.resources.memory.limit", "linux.resources.devices[0]", "mounts[/tmp].options[nosuid]", "linux.rootfsPropagation",
	} {
		if !slices.Contains(fields, want) {
			t.Errorf("%s isn't among the fields", want)
		}
	}
	for _, field := range fields {
		without, err := Without(spec, field)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := Compare(spec, marshal(t, without)); err != nil || !Names(d, field) {
			t.Errorf("without %s it differs in %v, %v", field, d, err)
		}
	}
}

// TestEveryFieldThereIs sets each field that the runtime spec has, and a shard's may not.
func TestEveryFieldThereIs(t *testing.T) {
	sets := settings("", reflect.TypeFor[specs.Spec](), func(s *specs.Spec) reflect.Value { return reflect.ValueOf(s).Elem() })
	if len(sets) < 200 {
		t.Fatalf("only %d", len(sets))
	}
	for _, s := range sets {
		spec := Spec(t)
		s.set(spec)
		if d, err := Compare(Spec(t), marshal(t, spec)); err != nil || len(d) == 0 {
			t.Errorf("%s: nothing differs, %v", s.field, err)
		}
	}
}

type setting struct {
	field string
	set   func(*specs.Spec)
}

// settings are all the ways to set a single value in what at leads to: what isn't there on the way is made.
func settings(field string, typ reflect.Type, at func(*specs.Spec) reflect.Value) []setting {
	switch typ.Kind() {
	case reflect.Pointer:
		return settings(field, typ.Elem(), func(s *specs.Spec) reflect.Value {
			p := at(s)
			if p.IsNil() {
				p.Set(reflect.New(typ.Elem()))
			}
			return p.Elem()
		})
	case reflect.Slice:
		return settings(field+"[]", typ.Elem(), func(s *specs.Spec) reflect.Value {
			list := at(s)
			list.Set(reflect.Append(list, reflect.Zero(typ.Elem())))
			return list.Index(list.Len() - 1)
		})
	case reflect.Map:
		return []setting{{field, func(s *specs.Spec) {
			m := reflect.MakeMap(typ)
			m.SetMapIndex(reflect.ValueOf("another").Convert(typ.Key()), reflect.Zero(typ.Elem()))
			at(s).Set(m)
		}}}
	case reflect.Struct:
		var all []setting
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			all = append(all, settings(field+"."+name, typ.Field(i).Type, func(s *specs.Spec) reflect.Value { return at(s).Field(i) })...)
		}
		return all
	}
	return []setting{{field, func(s *specs.Spec) { change(at(s)) }}}
}

// change gives a single value another.
func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(v.String() + "another")
	case reflect.Interface:
		v.Set(reflect.ValueOf("another"))
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	default:
		v.SetUint(v.Uint() + 1)
	}
}

func TestSets(t *testing.T) {
	asked := &specs.Spec{
		Mounts: []specs.Mount{{Destination: "/a", Options: []string{"size=64k", "mode=0755", "ro"}}, {Destination: "/b"}},
		Linux: &specs.Linux{MaskedPaths: []string{"/x", "/y"}, Seccomp: &specs.LinuxSeccomp{Syscalls: []specs.LinuxSyscall{
			{Names: []string{"a", "b"}, Action: specs.ActAllow}, {Names: []string{"c"}, Action: specs.ActErrno}}}},
		Process: &specs.Process{Args: []string{"x", "y"}, Env: []string{"A=1", "B=2"}},
	}
	const same = `{"ociVersion":"","process":{"user":{"uid":0,"gid":0},"args":["x","y"],"env":["B=2","A=1"],"cwd":""},
		"mounts":[{"destination":"/b"},{"destination":"/a","options":["ro","mode=755","size=65536"]}],
		"linux":{"maskedPaths":["/y","/x","/y"],"seccomp":{"defaultAction":"","syscalls":[
			{"names":["c"],"action":"SCMP_ACT_ERRNO"},{"names":["b"],"action":"SCMP_ACT_ALLOW"},{"names":["a"],"action":"SCMP_ACT_ALLOW"}]}}}`
	tests := []struct{ name, from, to, want string }{
		{"the same", "", "", ""},
		{"the order of arguments", `"x","y"`, `"y","x"`, "process.args"},
		{"another value of a variable", "A=1", "A=2", "process.env[A]"},
		{"a variable again", `"B=2"`, `"B=2","A=3"`, "process.env[A]#2"},
		{"a mount over another", `{"destination":"/b"}`, `{"destination":"/b"},{"destination":"/a","type":"bind"}`, "mounts[/a]#2"},
		{"another size", "size=65536", "size=65537", "mounts[/a].options[size]"},
		{"an option more", `"ro"`, `"ro","suid"`, "mounts[/a].options[suid]"},
		{"an unknown field", `"linux":{`, `"linux":{"new":true,`, "linux.new"},
		{"another action", `["c"],"action":"SCMP_ACT_ERRNO"`, `["c"],"action":"SCMP_ACT_ALLOW"`, "linux.seccomp.syscalls[c]"},
		{"one call more", `["c"]`, `["c","d"]`, "linux.seccomp.syscalls[d]"},
		{"another rule for a call", `["c"]`, `["c","a"]`, "linux.seccomp.syscalls[a]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Compare(asked, []byte(strings.Replace(same, tt.from, tt.to, 1)))
			if err != nil || tt.want == "" && len(d) > 0 || tt.want != "" && !Names(d, tt.want) {
				t.Errorf("%v, %v, want %q", d, err, tt.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	d := []Difference{{"a.b", "1", "2"}, {"c[x y]", "1", Absent}}
	for name, tt := range map[string]struct {
		allowed []Allowed
		want    []Difference
	}{
		"both":             {[]Allowed{{"a.b", "2", "", false}, {"c*", Absent, "", false}}, nil},
		"another value":    {[]Allowed{{"a.b", "3", "", true}, {"c[*]", "*", "", false}}, d[:1]},
		"no pattern":       {[]Allowed{{"a?b", "*", "", true}, {"c", "*", "", true}}, d},
		"one that must":    {[]Allowed{{"*", "*", "", false}, {"e", "1", "", false}}, []Difference{{"e", "1", "not so"}}},
		"one that needn't": {[]Allowed{{"*", "*", "", false}, {"e", "1", "", true}}, nil},
	} {
		if got := Judge(d, tt.allowed); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
