package selfcheck

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
)

func TestMapsIDs(t *testing.T) {
	for m, want := range map[string]bool{
		"         0       1006          1\n         1     427680      65536\n":                                   true,
		"         0     100000      65536\n":                                                                     true,
		"         0          0 4294967295\n":                                                                     false,
		"         0     100000       1000\n      1000       1000          1\n":                                   false,
		"         0       1000          1\n         1          1        999\n      1000       1001      64535\n": true,
		"0 100000\n": false,
		"":           false,
	} {
		if got := mapsIDs(m, 0, 1000); got != want {
			t.Errorf("%q: %v", m, got)
		}
	}
}

func TestUsableInterfaces(t *testing.T) {
	lo := net.Interface{Name: "lo", Flags: net.FlagUp | net.FlagLoopback}
	for name, tt := range map[string]struct {
		interfaces []net.Interface
		want       []string
	}{
		"alone":           {[]net.Interface{lo}, []string{"lo"}},
		"lo is down":      {[]net.Interface{{Name: "lo", Flags: net.FlagLoopback}}, []string{"lo"}},
		"tunnel modules":  {[]net.Interface{lo, {Name: "sit0"}, {Name: "tunl0"}}, []string{"lo"}},
		"a tunnel is up":  {[]net.Interface{lo, {Name: "tunl0", Flags: net.FlagUp}}, []string{"lo", "tunl0"}},
		"another network": {[]net.Interface{lo, {Name: "eth0", Flags: net.FlagUp}}, []string{"lo", "eth0"}},
	} {
		if got := usable(tt.interfaces); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestForeign: the caller's own namespaces are foreign to a shard, unless the numbers are another
// kernel's.
func TestForeign(t *testing.T) {
	own := OwnNamespaces()
	if len(own) != len(namespaces)+1 {
		t.Fatalf("OwnNamespaces gives %v", own)
	}
	missing := func(foreign map[string]string) []string {
		var c checks
		checkNamespaces(&c, Expect{Foreign: foreign})
		return Missing(c)
	}
	for _, ns := range namespaces {
		if !slices.Contains(missing(own), "namespace:"+ns) {
			t.Errorf("own %s namespace isn't found out", ns)
		}
	}
	elsewhere := map[string]string{}
	for _, ns := range namespaces {
		elsewhere[ns] = own[ns]
	}
	elsewhere[bootKey] = "another-boot"
	if a, b := missing(elsewhere), missing(nil); !slices.Equal(a, b) {
		t.Errorf("another kernel's numbers count: %v, without %v", a, b)
	}
}

func TestRunOutsideAShard(t *testing.T) {
	e := Expect{UID: 1000, GID: 1000, ReadOnlyRoot: true, MaskedPaths: []string{"/proc/version", "/sys/kernel"}, ReadonlyPaths: []string{"/proc"}}
	missing := Missing(Run(t.Context(), e).Protections)
	for _, want := range []string{"pid1:no_new_privs", "masked:/proc/version", "masked:/sys/kernel", "readonly:/proc", "mounts:unexpected"} {
		if !slices.Contains(missing, want) {
			t.Errorf("%s passes on this machine; missing are %v", want, missing)
		}
	}
}

func TestCancelledRunPassesNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("link lost"))
	r := Run(ctx, Expect{})
	if len(r.Protections) != 1 || r.Protections[0].OK || r.Protections[0].Got != "link lost" {
		t.Errorf("%+v", r.Protections)
	}
}
