package keyring

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	home := filepath.Join(t.TempDir(), "share")
	if err := Write(home); err != nil {
		t.Fatal(err)
	}
	// As measured: what gnome-keyring-daemon 42.1 takes for a keyring with an empty password.
	want := map[string]string{
		"login.keyring": "[keyring]\ndisplay-name=login\nctime=0\nmtime=0\nlock-on-idle=false\nlock-after=false\n",
		"default":       "login",
	}
	for name, text := range want {
		path := filepath.Join(home, "keyrings", name)
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("%s: %q, error %v", name, got, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, error %v", name, info.Mode(), err)
		}
	}
	if info, err := os.Stat(Dir(home)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, error %v", info.Mode(), err)
	}
}

func TestWriteKeepsWhatIsThere(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(Dir(home), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(Dir(home), "login.keyring")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(home); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "mine" {
		t.Errorf("%q, error %v", got, err)
	}
}

func TestWriteFails(t *testing.T) {
	home := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(home, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(home); err == nil {
		t.Error("written below a file")
	}
}
