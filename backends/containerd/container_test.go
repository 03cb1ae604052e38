package containerd_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/oci"
)

// inContainer in the environment makes this test's binary a berth that tries the shards of an image.
const inContainer = "BERTH_TEST_IN_CONTAINER"

// TestInContainerAsRoot runs berth as in a container of CI's, with mounts, processes and a network of its
// own: it gets from the host what is mounted into it.
func TestInContainerAsRoot(t *testing.T) {
	r := newRig(t)
	folder := filepath.Dir(r.Address())
	tests := []struct {
		name, mount string
		want        []string
	}{
		{"the socket's folder", `mount --bind "$host" "$folder"`, []string{"exec: hello\n", "removed\n"}},
		{"the socket alone", `: >"$folder/c.sock"; mount --bind "$host/c.sock" "$folder/c.sock"`, []string{
			"exec: " + backends.ErrUnavailable.Error() + ": containerd doesn't see berth's folder " + folder + "/berth-fifo: where berth runs in a container, mount the host's " + folder + " into it at the same path, not the socket alone", "removed\n",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			script := `folder=$1; host=$2; mount --bind "$folder" "$host"; mount -t tmpfs tmpfs "$folder"; ` + tt.mount + `; umount -l "$host"; exec "$3"`
			cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--net", "sh", "-ec", script, "sh", folder, t.TempDir(), "/proc/self/exe")
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Args[len(cmd.Args)-1] = exe
			cmd.Env = append(os.Environ(), inContainer+"="+r.ref, "CONTAINERD_ADDRESS="+r.Address())
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			// It couldn't find a shard's processes from in there.
			for _, want := range append(tt.want, "network=engine: berth sees none of containerd's processes") {
				if !strings.Contains(string(out), want) {
					t.Errorf("it doesn't say %q:\n%s", want, out)
				}
			}
			if lines := strings.Count(string(out), "\n"); lines != 3 {
				t.Errorf("%d lines, not one for each:\n%s", lines, out)
			}
		})
	}
}

// tryFromContainer says in a line what came of an exec, of a removal, and of the wish for a network.
func tryFromContainer(ctx context.Context, ref string) error {
	b, err := containerd.New(ctx, containerd.Options{})
	if err != nil {
		return err
	}
	spec, err := oci.ShardSpec{Args: []string{backendtest.ProbePath, "pause"}}.Spec()
	if err != nil {
		return err
	}
	c := backends.Config{Name: "from-a-container", Image: ref, Spec: spec, Network: backends.NetworkNone}
	s, err := b.Create(ctx, c)
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	var out strings.Builder
	p := backends.Process{Args: []string{backendtest.ProbePath, "cat"}, Stdin: strings.NewReader("hello"), Stdout: &out}
	if _, err := s.Exec(ctx, p); err != nil {
		fmt.Println("exec:", err)
	} else {
		fmt.Println("exec:", out.String())
	}
	if err := s.Remove(ctx); err != nil {
		return err
	}
	fmt.Println("removed")
	c.Network = backends.NetworkEngine
	_, err = b.Create(ctx, c)
	fmt.Println(err)
	return nil
}
