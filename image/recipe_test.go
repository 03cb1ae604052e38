package image

import (
	"encoding/base64"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestLockIsWhole(t *testing.T) {
	l := locked()
	if epoch := time.Unix(l.Epoch, 0).UTC(); epoch.Year() < 2025 {
		t.Errorf("epoch %v", epoch)
	}
	for name, c := range clients {
		for _, arch := range []string{"amd64", "arm64"} {
			version, pkg, err := l.app(c.app.name, "", arch)
			if err != nil {
				t.Errorf("client %s on %s: %v", name, arch, err)
				continue
			}
			if !strings.Contains(pkg.Spec, "@"+version) {
				t.Errorf("%s %s is locked to %s", name, version, pkg.Spec)
			}
			sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(pkg.Integrity, "sha512-"))
			if err != nil || len(sum) != 64 {
				t.Errorf("%s: integrity %q: %d bytes, %v", pkg.Spec, pkg.Integrity, len(sum), err)
			}
		}
	}
}

func refOf(r Recipe) (string, error) {
	p, err := newPlan(r)
	if err != nil {
		return "", err
	}
	return p.ref(), nil
}

func TestRefChangesWithEachInput(t *testing.T) {
	worker := workerFile(t)
	plain := Recipe{Client: "codex", Worker: worker, Arch: "amd64"}
	first, err := refOf(plain)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^localhost/berth-codex-linux:0\.171\.0-[0-9a-f]{12}$`).MatchString(first) {
		t.Errorf("ref %q", first)
	}
	overlay := t.TempDir()
	writeFile(t, filepath.Join(overlay, "opt/f"), "f", 0o644)
	other := filepath.Join(t.TempDir(), "w")
	writeFile(t, other, "another worker", 0o755)
	same := map[string]Recipe{
		"again":             plain,
		"defaults spelt":    {Client: "codex", Worker: worker, Arch: "amd64", Suite: "trixie", Version: "0.171.0"},
		"package it has":    {Client: "codex", Worker: worker, Arch: "amd64", Packages: []string{"git", "git"}},
		"worker moved":      {Client: "codex", Worker: workerFile(t), Arch: "amd64"},
		"epoch of the lock": {Client: "codex", Worker: worker, Arch: "amd64", Epoch: locked().Epoch},
	}
	for what, r := range same {
		if ref, err := refOf(r); err != nil || ref != first {
			t.Errorf("%s: got %s, %v; want %s", what, ref, err, first)
		}
	}
	seen := map[string]string{first: "plain"}
	for what, r := range map[string]Recipe{
		"arch":     {Client: "codex", Worker: worker, Arch: "arm64"},
		"suite":    {Client: "codex", Worker: worker, Arch: "amd64", Suite: "forky"},
		"packages": {Client: "codex", Worker: worker, Arch: "amd64", Packages: []string{"jq"}},
		"overlay":  {Client: "codex", Worker: worker, Arch: "amd64", Overlay: overlay},
		"worker":   {Client: "codex", Worker: other, Arch: "amd64"},
		"base":     {Client: "codex", Worker: worker, Arch: "amd64", Base: &Base{Digest: "sha256:1"}},
		"base 2":   {Client: "codex", Worker: worker, Arch: "amd64", Base: &Base{Digest: "sha256:2"}},
		"epoch":    {Client: "codex", Worker: worker, Arch: "amd64", Epoch: 1},
	} {
		ref, err := refOf(r)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if with, taken := seen[ref]; taken {
			t.Errorf("%s and %s share the ref %s", what, with, ref)
		}
		seen[ref] = what
	}
}

func TestInvalidRecipes(t *testing.T) {
	worker := workerFile(t)
	for what, tc := range map[string]struct {
		r    Recipe
		says string
	}{
		"client":     {Recipe{Client: "nobody", Worker: worker}, "there is one for chatgpt, codex"},
		"version":    {Recipe{Client: "codex", Worker: worker, Version: "9"}, "which has 0.171.0"},
		"arch":       {Recipe{Client: "codex", Worker: worker, Arch: "riscv64"}, "riscv64"},
		"suite":      {Recipe{Client: "codex", Worker: worker, Suite: "--help"}, "--help"},
		"package":    {Recipe{Client: "codex", Worker: worker, Packages: []string{"a b"}}, "a b"},
		"option":     {Recipe{Client: "codex", Worker: worker, Packages: []string{"-x"}}, "-x"},
		"no worker":  {Recipe{Client: "codex"}, "berth-worker"},
		"worker":     {Recipe{Client: "codex", Worker: worker + ".no"}, "berth-worker"},
		"no overlay": {Recipe{Client: "codex", Worker: worker, Overlay: worker + ".no"}, "overlay"},
	} {
		if _, err := refOf(tc.r); !errors.Is(err, ErrRecipe) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %v, want ErrRecipe with %q", what, err, tc.says)
		}
	}
}
