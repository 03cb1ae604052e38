package e2e

import (
	"os"
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
)

func TestMain(m *testing.M) {
	os.Exit(rig.Main(m))
}
