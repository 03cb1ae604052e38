package desktop

import (
	"os"
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
)

func TestMain(m *testing.M) {
	serveWiki()
	os.Exit(rig.Main(m))
}
