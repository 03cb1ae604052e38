package desktop

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/mcp/mcptest"
)

// wiki is this test binary as an MCP server over HTTP in a shard, which takes any bearer.
const (
	wikiProgram = "berth-e2e-wiki"
	wikiAddr    = "127.0.0.1:7001"
)

// serveWiki serves for good, if this process is the wiki.
func serveWiki() {
	if filepath.Base(os.Args[0]) != wikiProgram {
		return
	}
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcptest.NewServer(1) }, nil)
	err := http.ListenAndServe(wikiAddr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	os.Stderr.WriteString(err.Error() + "\n")
	os.Exit(1)
}

// withWiki makes an image of ref whose desktop has the wiki beside its window manager.
func withWiki(t *testing.T, ref string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return damagedImage(t, ref, func(container string) {
		const manager = "/usr/bin/openbox"
		rig.PodmanDo(t, "cp", self, container+":/opt/"+wikiProgram)
		copyFile(t, container, manager, "/opt/manager")
		putFile(t, container, manager, "#!/bin/sh\n/opt/"+wikiProgram+" &\nexec /opt/manager \"$@\"\n", 0o755)
	})
}
