package podman

import (
	"slices"
	"testing"
)

func TestPodmanEnv(t *testing.T) {
	kept := []string{
		"HOME=/home/a", "PATH=/bin", "XDG_RUNTIME_DIR=/run/user/1", "CONTAINERS_STORAGE_CONF=/x", "CONTAINER_HOST=unix:///x",
		"LC_ALL=C", "TMPDIR=/t", "DBUS_SESSION_BUS_ADDRESS=unix:path=/x", "https_proxy=http://p:1", "_CONTAINERS_ROOTLESS_UID=5",
	}
	dropped := []string{
		"OPENAI_API_KEY=k", "OPENAI_BASE_URL=u", "MST_LLM_AUTH_COMMAND=echo k", "WIKI=k", "ANTHROPIC_API_KEY=k",
		"HOMEKEY=k", "AWS_SECRET_ACCESS_KEY=k", "=x", "",
	}
	if got := podmanEnv(slices.Concat(dropped, kept)); !slices.Equal(got, kept) {
		t.Errorf("%v", got)
	}
}
