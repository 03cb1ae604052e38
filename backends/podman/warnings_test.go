package podman

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestWarnings changes one thing of an engine with which all is well.
func TestWarnings(t *testing.T) {
	const dropIn = `printf '[Service]\nDelegate=cpu cpuset io memory pids\n' | sudo install -D -m 644 /dev/stdin /etc/systemd/system/user@.service.d/delegate.conf`
	tests := []struct {
		name     string
		from, to string
		want     []string // parts of one warning; nil for none
	}{
		{"all well", "", "", nil},
		{"vfs", `"overlay"`, `"vfs"`, []string{"vfs, which copies the whole image", "~/.config/containers/storage.conf", "podman system reset"}},
		{"trap 1: cgroupfs manager", `"systemd"`, `"cgroupfs"`, []string{"no limit is in force", "cgroupfs", "loginctl enable-linger"}},
		{"trap 2: cpu isn't delegated", `"cpu",`, ``, []string{"isn't given (cpu)", dropIn, "log in again"}},
		{"nothing is delegated", `"cpu","memory","pids"`, ``, []string{"isn't given (memory, pids, cpu)", dropIn}},
		{"cgroup v1", `"v2"`, `"v1"`, []string{"cgroup v1", "unified_cgroup_hierarchy"}},
		{"root needs no delegation", `"rootless":true`, `"rootless":false`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(goodInfo, tt.from, tt.to, 1)
			if text == goodInfo && tt.from != tt.to {
				t.Fatal("nothing was replaced")
			}
			var r infoResponse
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				t.Fatal(err)
			}
			got := r.warnings()
			if tt.want == nil {
				if len(got) > 0 {
					t.Errorf("warnings %q", got)
				}
				return
			}
			if len(got) != 1 || strings.Contains(got[0], "\n") || slices.ContainsFunc(tt.want, func(w string) bool { return !strings.Contains(got[0], w) }) {
				t.Errorf("warnings %q, want one line with %q", got, tt.want)
			}
		})
	}
}
