package driver_test

import (
	"testing"

	"github.com/berth-run/berth/session/client/chatgpt/driver"
)

type object = map[string]any

// everything is what the app shows a fresh profile.
func everything() object {
	return object{
		"screens": []object{
			{"kind": "profession", "stale": true, "delayMs": 100}, {"kind": "examples", "delayMs": 100}, {"kind": "confirm"},
			{"kind": "announcement", "delayMs": 100},
		},
		"main": object{"setupRouteMs": 700},
	}
}

func TestFirstRunAndTwoPrompts(t *testing.T) {
	r := newRig(t, everything(), driver.Limits{Settle: 1500e6})
	receipt, err := r.driver.Prepare(t.Context(), driver.Codex)
	t.Logf("%+v", receipt)
	if err != nil {
		r.show()
		t.Fatal(err)
	}
	for _, prompt := range []string{"Grüße & 漢字:\n\nfour `words` + 100 %", "again"} {
		receipt, err = r.driver.Submit(t.Context(), driver.Codex, prompt)
		t.Logf("%+v", receipt)
		if err != nil {
			r.show()
			t.Fatal(err)
		}
	}
	r.show()
	t.Log(r.journal("send"), r.journal("click"))
}
