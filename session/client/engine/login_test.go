package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/internal/redact"
)

// secret is what the key file holds.
const secret = "tok-0123456789abcdef"

// scripted is a Codex that is a shell script, and a key file for it.
func scripted(t *testing.T, script string) (c Codex, key string) {
	t.Helper()
	dir := t.TempDir()
	path, key := filepath.Join(dir, "codex"), filepath.Join(dir, "key")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	must(t, os.WriteFile(key, []byte(secret+"\n"), 0o600))
	return Codex{Path: path, Dir: dir, Env: []string{"PATH=/usr/bin:/bin", "CODEX_HOME=" + dir}, Redact: &redact.Set{}}, key
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLogin(t *testing.T) {
	const stored = `if [ "$2" = --with-api-key ]; then cat >"$CODEX_HOME/stored"; exit; fi`
	tests := []struct {
		name, script string
		want         code.Code
		text         string
	}{
		{"works", stored + `; echo "Logged in using an API key" >&2`, "", ""},
		{"refused", `echo "bad key $(cat)" >&2; exit 1`, code.LoginFailed, "exit status 1: bad key [redacted]"},
		{"not stored", stored + `; echo "Not logged in"; exit 1`, code.LoginUnverified, "Not logged in"},
		{"another login", stored + `; echo "Logged in using ChatGPT"`, code.LoginUnverified, "Logged in using ChatGPT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, key := scripted(t, tt.script)
			err := c.Login(context.Background(), key)
			if code.Of(err) != tt.want || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("error %v, want %s with %q", err, tt.want, tt.text)
			}
			codetest.Saw(t, code.Of(err))
			if err == nil {
				b, err := os.ReadFile(filepath.Join(c.Dir, "stored"))
				if err != nil || string(b) != secret {
					t.Errorf("stored %q, error %v", b, err)
				}
			}
		})
	}
}

func TestCommandLimit(t *testing.T) {
	c, _ := scripted(t, "exec sleep 1000")
	_, err := c.command(context.Background(), 50*time.Millisecond, "", "login")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// TestLoginTakesTooLong: as long as it has, whoever says so.
func TestLoginTakesTooLong(t *testing.T) {
	c, key := scripted(t, "exec sleep 1000")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err := c.Login(ctx, key)
	if code.Of(err) != code.LoginTimeout {
		t.Errorf("error %v", err)
	}
	codetest.Saw(t, code.Of(err))
}

func TestReadAPIKey(t *testing.T) {
	tests := []struct {
		name string
		edit func(*testing.T, string)
		want code.Code
	}{
		{"right", func(*testing.T, string) {}, ""},
		{"open to others", func(t *testing.T, p string) { must(t, os.Chmod(p, 0o640)) }, code.APIKeyFileUnsafe},
		{"missing", func(t *testing.T, p string) { must(t, os.Remove(p)) }, code.APIKeyFileUnsafe},
		{"a link", func(t *testing.T, p string) {
			must(t, os.Rename(p, p+"1"))
			must(t, os.Symlink(p+"1", p))
		}, code.APIKeyFileUnsafe},
		{"a pipe", func(t *testing.T, p string) { must(t, errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o600))) }, code.APIKeyFileUnsafe},
		{"empty", func(t *testing.T, p string) { must(t, os.Truncate(p, 0)) }, code.APIKeyInvalid},
		{"two lines", func(t *testing.T, p string) { must(t, os.WriteFile(p, []byte("a\nb\n"), 0o600)) }, code.APIKeyInvalid},
		{"too long", func(t *testing.T, p string) {
			must(t, os.WriteFile(p, []byte(strings.Repeat("x", maxAPIKey+1)), 0o600))
		}, code.APIKeyInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, path := scripted(t, "")
			tt.edit(t, path)
			key, err := readAPIKey(path)
			if code.Of(err) != tt.want || err == nil && key != secret {
				t.Errorf("key %q, error %v, want %q", key, err, tt.want)
			}
			codetest.Saw(t, code.Of(err))
		})
	}
}
