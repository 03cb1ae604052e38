package execkill

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fakeProc writes a /proc with the given stat and environ files.
type fakeProc map[int]struct {
	stat string
	env  string // "-": can't be read
}

func (f fakeProc) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for pid, p := range f {
		d := filepath.Join(dir, strconv.Itoa(pid))
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "stat"), []byte(p.stat), 0o600); err != nil {
			t.Fatal(err)
		}
		if p.env != "-" {
			if err := os.WriteFile(filepath.Join(d, "environ"), []byte(p.env), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

const (
	id   = "0123456789abcdef"
	mark = EnvVar + "=" + id
)

func TestScan(t *testing.T) {
	tests := []struct {
		name string
		proc fakeProc
		want []int
	}{
		{"nothing", fakeProc{1: {"1 (init) S 0 1 1", ""}}, nil},
		{"marked", fakeProc{
			1: {"1 (init) S 0 1 1", ""},
			7: {"7 (a) S 0 7 7", "A=b\x00" + mark + "\x00"},
			8: {"8 (b) S 0 8 8", EnvVar + "=0123456789abcdef0\x00"},
			9: {"9 (c) S 0 9 9", "X" + mark + "\x00"},
		}, []int{7}},
		{"descendants with another environment", fakeProc{
			7: {"7 (a) S 0 7 7", mark},
			8: {"8 (b) S 7 8 8", ""},
			9: {"9 (c) S 8 9 9", "-"},
		}, []int{7, 8, 9}},
		{"session of a marked leader", fakeProc{
			7: {"7 (a) S 0 7 7", mark},
			9: {"9 (c) S 1 7 7", ""},
		}, []int{7, 9}},
		{"session that it doesn't lead says nothing", fakeProc{
			8: {"8 (b) S 1 7 7", mark},
			9: {"9 (c) S 1 7 7", ""},
			5: {"5 (d) S 0 0 0", mark},
			6: {"6 (e) S 0 0 0", ""},
		}, []int{5, 8}},
		{"never PID 1 nor itself", fakeProc{
			1:  {"1 (init) S 0 1 1", mark},
			50: {"50 (kill) R 0 50 50", mark},
		}, nil},
		{"zombies are done with", fakeProc{7: {"7 (a) Z 1 7 7", mark}}, nil},
		{"odd names", fakeProc{7: {"7 (a) S 1) (b) S 0 7 7", mark}}, []int{7}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scanner{proc: tt.proc.write(t), id: id, self: 50}
			got, err := s.scan()
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Fatalf("found %v, want %v", got, tt.want)
			}
		})
	}
}

func TestScanRemembersSessions(t *testing.T) {
	s := scanner{proc: fakeProc{7: {"7 (a) S 0 7 7", mark}}.write(t), id: id}
	if _, err := s.scan(); err != nil {
		t.Fatal(err)
	}
	s.proc = fakeProc{9: {"9 (c) S 1 7 7", ""}}.write(t)
	got, err := s.scan()
	if err != nil || !slices.Equal(got, []int{9}) {
		t.Fatalf("found %v, %v", got, err)
	}
}

// statOf is a process's stat up to where its environment ends.
func statOf(head, envEnd string) string {
	return head + strings.Repeat(" 7", 51-7) + " " + envEnd + " 0"
}

// TestUnclear: a process without an environment may be one that is becoming another program, and the kernel tells
// until shortly before it is; the kernel's own never has one.
func TestUnclear(t *testing.T) {
	for name, tt := range map[string]struct {
		proc fakeProc
		want time.Duration
	}{
		"nothing":       {fakeProc{}, 0},
		"another's":     {fakeProc{8: {"8 (b) S 1 8 8", "A=b\x00"}}, 0},
		"not readable":  {fakeProc{8: {"8 (b) S 1 8 8", "-"}}, 0},
		"becoming":      {fakeProc{8: {statOf("8 (b) S 1 8 8", "0"), ""}, 9: {statOf("9 (c) S 1 9 9", "140725896552427"), ""}}, becoming},
		"bare":          {fakeProc{8: {statOf("8 (b) S 1 8 8", "140725896552427"), ""}}, bare},
		"bare, dead":    {fakeProc{8: {"8 (b) Z 1 8 8", ""}}, 0},
		"bare, found":   {fakeProc{7: {"7 (a) S 1 7 7", mark}, 8: {"8 (b) S 7 8 8", ""}}, 0},
		"kernel thread": {fakeProc{2: {"2 (kthreadd) S 0 0 0", ""}, 9: {"9 (kworker/0:1) I 2 0 0", ""}}, 0},
	} {
		s := scanner{proc: tt.proc.write(t), id: id, self: 50}
		if _, err := s.scan(); err != nil || s.unclear != tt.want {
			t.Errorf("%s: %v, %v", name, s.unclear, err)
		}
	}
}
