package main

import (
	"testing"
	"time"

	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/sessiontest"
	"github.com/berth-run/berth/testdata/standin/scenario"
)

// TestBesides: what is beside the app's window is there when the splash goes, or when the first hand-off
// is answered.
func TestBesides(t *testing.T) {
	for kind, want := range map[string]struct{ apps, windows, switches int }{
		"window": {1, 2, 1}, "twin": {1, 2, 2}, "app": {2, 1, 1}, "later": {2, 1, 1},
	} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, desk(t))
			r.start(`{` + noKeyring + `, "besides": "` + kind + `"}`)
			r.journalled("screen", line{Screen: "main"})
			if !scenario.Besides(kind).FromStart() {
				r.handOff("")
			}
			bus, err := atspi.OpenAddress(t.Context(), sessiontest.Getenv(r.session, "AT_SPI_BUS_ADDRESS"))
			must(t, err)
			t.Cleanup(bus.Close)
			var apps []*atspi.App
			for deadline := time.Now().Add(time.Minute); len(apps) != want.apps && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
				apps, err = bus.Apps(t.Context())
				must(t, err)
			}
			if len(apps) != want.apps {
				t.Fatalf("%d apps, want %d", len(apps), want.apps)
			}
			if want.apps > 1 {
				return
			}
			r.find()
			r.count(want.switches, named("Switch mode, current mode: ChatGPT Work"))
			r.await("the windows", func(tree *atspi.Tree) bool { return len(tree.Root().Children) == want.windows })
		})
	}
}
