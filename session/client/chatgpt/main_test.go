package chatgpt

import (
	"os"
	"testing"

	"github.com/berth-run/berth/internal/mcp/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	fakeMain()
	os.Exit(m.Run())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
