package private_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-run/berth/session/client/private"
)

// envRoom makes the test binary tell of the file systems below a folder, from inside a namespace.
const envRoom = "BERTH_TEST_ROOM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envRoom); dir != "" {
		for _, name := range []string{"roomy", "bytes", "files", "endless"} {
			fmt.Println(name, private.Full(dir+"/"+name), private.Room(dir+"/"+name))
		}
		return
	}
	os.Exit(m.Run())
}

// TestFull asks of file systems with room, without any for a byte or for a file, and without a size.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("sh", "-ec", `cd "$1"
mkdir roomy bytes files endless
mount -t tmpfs -o size=1m tmpfs roomy
mount -t tmpfs -o size=1m tmpfs bytes; head -c 1020K /dev/zero >bytes/most
mount -t tmpfs -o size=1m,nr_inodes=2 tmpfs files; touch files/a
mount -t tmpfs -o size=0 tmpfs endless
BERTH_TEST_ROOM=$1 exec "$2"`, "sh", dir, os.Args[0])
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"roomy false 1048576\n", "bytes true 4096\n", "files true 0\n", fmt.Sprintf("endless false %d\n", uint64(math.MaxUint64)),
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if private.Full(dir + "/none") {
		t.Error("a folder that isn't there is full")
	}
}
