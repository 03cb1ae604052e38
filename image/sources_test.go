package image

import (
	"errors"
	"path/filepath"
	"testing"
)

const (
	deb822 = `# the machine's
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
URIs: http://security.debian.org/debian-security
Suites: bookworm-security
Components: main
`
	oneLine = `# deb http://commented.example/debian bookworm main
deb-src http://source.example/debian bookworm main
deb cdrom:[Debian]/ bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/vendor.gpg] https://vendor.example/apt bookworm main
deb   [ arch=amd64 ]  http://local.example/debian  stable main non-free # comment
deb http://local.example/sec bullseye/updates main
broken
deb http://short.example
`
	derivative = `Types: deb
URIs: http://archive.example/ubuntu
Suites: noble noble-updates
Components: main universe
`
	disabled = `Enabled: no
Types: deb
URIs: http://mirror.example/debian
Suites: trixie
Components: main
`
)

func TestSourcesList(t *testing.T) {
	for what, tc := range map[string]struct {
		files         map[string]string
		mirror, suite string
		want          string
	}{
		"deb822": {map[string]string{"sources.list.d/debian.sources": deb822}, "", "trixie",
			"deb http://mirror.example/debian trixie main\n" +
				"deb http://mirror.example/debian trixie-updates main\n" +
				"deb http://security.debian.org/debian-security trixie-security main\n"},
		"one-line": {map[string]string{"sources.list": oneLine}, "", "trixie",
			"deb http://local.example/debian trixie main\ndeb http://local.example/sec trixie-security main\n"},
		"unstable has no pockets": {map[string]string{"sources.list.d/debian.sources": deb822}, "", "sid",
			"deb http://mirror.example/debian sid main\n"},
		"certain before likely": {map[string]string{"sources.list": oneLine, "sources.list.d/x.sources": deb822}, "", "trixie",
			"deb http://mirror.example/debian trixie main\n" +
				"deb http://mirror.example/debian trixie-updates main\n" +
				"deb http://security.debian.org/debian-security trixie-security main\n"},
		"named mirror":       {map[string]string{"sources.list": oneLine}, "http://named.example/debian", "trixie", "deb http://named.example/debian trixie main\n"},
		"a derivative":       {map[string]string{"sources.list.d/u.sources": derivative}, "", "trixie", ""},
		"disabled":           {map[string]string{"sources.list.d/d.sources": disabled}, "", "trixie", ""},
		"not read by apt":    {map[string]string{"sources.list.d/debian.sources.bak": deb822}, "", "trixie", ""},
		"no apt at all":      {nil, "", "trixie", ""},
		"no apt, but mirror": {nil, "http://named.example/debian", "sid", "deb http://named.example/debian sid main\n"},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tc.files {
				writeFile(t, filepath.Join(dir, name), text, 0o644)
			}
			got, err := sourcesList(dir, tc.mirror, tc.suite)
			if got != tc.want {
				t.Errorf("got\n%swant\n%s", got, tc.want)
			}
			if (tc.want == "") != errors.Is(err, ErrPrerequisite) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAptNetworkOptions(t *testing.T) {
	got := aptNetworkOptions(`Acquire "";
Acquire::http "";
Acquire::http::Proxy "http://127.0.0.1:3142";
Acquire::https::Proxy::mirror.example "DIRECT";
Acquire::https::CAInfo "/etc/ssl/own.pem";
Acquire::http::Proxy "";
Acquire::Retries "3";
`)
	want := []string{`Acquire::http::Proxy "http://127.0.0.1:3142"`, `Acquire::https::Proxy::mirror.example "DIRECT"`, `Acquire::https::CAInfo "/etc/ssl/own.pem"`}
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

func TestSubIDs(t *testing.T) {
	const text = "ann:100000:65536\nbob:165536:1000\n1002:200000:70000\nbroken\nann:900000:10\n"
	for who, tc := range map[string]struct {
		name, uid string
		want      int
	}{
		"by name":  {"ann", "1000", 65536},
		"too few":  {"bob", "1001", 1000},
		"by id":    {"cid", "1002", 70000},
		"a prefix": {"an", "1003", 0},
	} {
		if got := subIDs(text, tc.name, tc.uid); got != tc.want {
			t.Errorf("%s: got %d, want %d", who, got, tc.want)
		}
	}
}

func TestNeedDebianNamesAllThatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := needDebian("riscv64", filepath.Join(t.TempDir(), "keyring.gpg"))
	for _, want := range []string{"riscv64 machine", "install the package mmdebstrap", "debian-archive-keyring"} {
		if err == nil || !errors.Is(err, ErrPrerequisite) || !containsLine(err, want) {
			t.Errorf("got %v, want a line with %q", err, want)
		}
	}
}
