package desktop

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/mcp/mcptest"
)

// wiki is this test binary as an MCP server over HTTP in a shard, which takes any bearer.
const (
	wikiProgram = "berth-e2e-wiki"
	wikiAddr    = "127.0.0.1:7001"
	// besideWiki is what the program becomes once the wiki listens.
	besideWiki = "/opt/manager"
)

// wikiServes marks the process that serves, which has the listener as its descriptor 3.
const wikiServes = "BERTH_E2E_WIKI_SERVES=1"

// serveWiki serves for good or becomes besideWiki, if this process is the wiki.
func serveWiki() {
	if filepath.Base(os.Args[0]) != wikiProgram {
		return
	}
	become := listenWiki
	if os.Getenv("BERTH_E2E_WIKI_SERVES") != "" {
		become = answerWiki
	}
	os.Stderr.WriteString(become().Error() + "\n")
	os.Exit(1)
}

// listenWiki listens before it becomes besideWiki: a desktop that's ready has a server that takes
// connections, however long the process that answers them needs to start.
func listenWiki() error {
	l, err := net.Listen("tcp", wikiAddr)
	if err != nil {
		return err
	}
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), wikiServes)
	server.ExtraFiles = []*os.File{f}
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		return err
	}
	return syscall.Exec(besideWiki, append([]string{besideWiki}, os.Args[1:]...), os.Environ())
}

func answerWiki() error {
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcptest.NewServer(1) }, nil)
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
}

// withWiki makes an image of ref whose desktop has the wiki before its window manager.
func withWiki(t *testing.T, ref string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return damagedImage(t, ref, func(container string) {
		const manager = "/usr/bin/openbox"
		rig.PodmanDo(t, "cp", self, container+":/opt/"+wikiProgram)
		copyFile(t, container, manager, besideWiki)
		putFile(t, container, manager, "#!/bin/sh\nexec /opt/"+wikiProgram+" \"$@\"\n", 0o755)
	})
}
