package owner

import "testing"

func TestHostID(t *testing.T) {
	a, b := hostID("0123456789abcdef0123456789abcdef"), hostID("ffff456789abcdef0123456789abcdef")
	if len(a) != 32 || a == b || a == "0123456789abcdef0123456789abcdef" {
		t.Errorf("%q, %q", a, b)
	}
	for _, none := range []string{"", "uninitialized"} {
		if got := hostID(none); got != "" {
			t.Errorf("machine id %q gives %q", none, got)
		}
	}
}
