package podman_test

import (
	"errors"
	"strings"
	"testing"
)

func wantErr(t *testing.T, got, want error, text string) {
	t.Helper()
	if !errors.Is(got, want) || !strings.Contains(got.Error(), text) {
		t.Errorf("error %v, want %v with %q", got, want, text)
	}
}
