// Package keyring gives a session a login keyring that opens without a password, and proves that it
// does: files that gnome-keyring-daemon takes as a keyring with an empty password, the public Unlock
// call, a write and a read over the Secret Service. Secrets in such a keyring lie in clear text in its
// file, so it belongs on a tmpfs that goes with the shard. The package starts no daemon.
package keyring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files are what makes a login keyring without a password, by their names in Dir: an unencrypted
// keyring, and the name of the keyring that apps get when they ask for the default one. A newline on
// the daemon's stdin makes one whose password is a newline, and none makes no keyring at all.
var files = map[string]string{
	"login.keyring": "[keyring]\ndisplay-name=login\nctime=0\nmtime=0\nlock-on-idle=false\nlock-after=false\n",
	"default":       "login",
}

// Dir is where gnome-keyring-daemon looks for keyrings, given its XDG_DATA_HOME.
func Dir(dataHome string) string { return filepath.Join(dataHome, "keyrings") }

// Write makes the login keyring's files below dataHome before the daemon starts. What's there already
// stays as it is.
func Write(dataHome string) error {
	dir := Dir(dataHome)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the keyring: %w", err)
	}
	for name, text := range files {
		if err := writeNew(filepath.Join(dir, name), text); err != nil {
			return fmt.Errorf("making the keyring: %w", err)
		}
	}
	return nil
}

func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
