package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/berth-run/berth/session/atspi"
)

// TestWindow is what scenarios make of one window, one after the other.
func TestWindow(t *testing.T) {
	r := newRig(t, desk(t))
	r.start(`{"splash": {"until": "never"}}`)
	r.find()
	for name, test := range map[string]func(*rig){
		"surfaces": testSurfaces, "controls": testControls, "twice": testTwice, "keep setting up": testBack,
		"stale": testStale, "late": testLate, "setup route": testSetupRoute, "drafts": testDrafts, "ignored": testIgnored,
		"hand-off before the main screen": testEarlyHandOff, "code": testCode, "long draft": testLongDraft, "typed": testTyped,
		"splash": testSplash, "seeds": testSeeds, "second start": testSecondStart,
	} {
		t.Run(name, func(t *testing.T) {
			r := *r
			r.t = t
			test(&r)
			if sent := r.lines("send"); len(sent) > 0 {
				t.Errorf("sent %+v", sent)
			}
		})
	}
}

const noKeyring = `"splash": {"until": "shown"}`

func popup(surface string) atspi.Query { return button("Switch mode, current mode: " + surface) }

func menuItem(name string) atspi.Query {
	return atspi.Query{Roles: []atspi.Role{atspi.RoleMenuItem}, Names: []string{name}, States: atspi.Actionable}
}

var surfaces = map[string]string{
	"ChatGPT Work": "ChatGPT Work Create, learn, and explore", "Codex": "Codex Build, debug, and ship",
}

func (r *rig) switchFrom(from, to string) {
	r.t.Helper()
	must(r.t, r.app.Do(r.t.Context(), r.one(popup(from)), "open"))
	must(r.t, r.app.Do(r.t.Context(), r.one(menuItem(surfaces[to])), "select"))
	r.one(popup(to))
}

func (r *rig) draft() string {
	r.t.Helper()
	text, err := r.app.Text(r.t.Context(), r.one(composer))
	must(r.t, err)
	return text
}

func (r *rig) awaitDraft(want string) {
	r.t.Helper()
	r.await(fmt.Sprintf("the draft %.40q", want), func(tree *atspi.Tree) bool {
		editors := atspi.Outermost(tree.Find(composer))
		if len(editors) != 1 {
			return false
		}
		text, err := r.app.Text(r.t.Context(), editors[0])
		return err == nil && text == want
	})
}

// A draft outlives a change of the surface, and Send is there as long as there is one.
func testSurfaces(r *rig) {
	r.restart(`{` + noKeyring + `, "surface": "Codex"}`)
	r.switchFrom("Codex", "ChatGPT Work")
	r.handOff("stay")
	r.awaitDraft("stay")
	r.switchFrom("ChatGPT Work", "Codex")
	if got := r.draft(); got != "stay" {
		r.t.Errorf("the draft is %q", got)
	}
	r.one(button("Send"))
	r.handOff("")
	r.awaitDraft("")
	if n := r.one(atspi.Query{Names: []string{"Send"}, States: atspi.Available}); n.States.Has(atspi.StateEnabled) {
		r.t.Error("an empty draft can be sent")
	}
	if now := r.one(popup("Codex")); now.Role != atspi.RoleButton {
		r.t.Errorf("the switch is a %v", now.Role)
	}
}

// count waits until so many controls of a name are on screen.
func (r *rig) count(want int, q atspi.Query) {
	r.t.Helper()
	q.States = atspi.Available
	r.await(fmt.Sprintf("%d of %q", want, q.Names), func(tree *atspi.Tree) bool {
		return len(tree.Find(q)) == want
	})
}

func named(name string) atspi.Query { return atspi.Query{Names: []string{name}} }

func testControls(r *rig) {
	r.restart(`{` + noKeyring + `, "screens": [
	  {"kind": "examples", "doubled": ["skip"], "missing": ["chart"]},
	  {"kind": "confirm", "dead": ["goToChatGPT"]}]}`)
	r.one(button("Leave a note on my Desktop"))
	r.count(2, button("Skip"))
	r.count(0, button("Turn this spreadsheet into a chart"))
	tree, err := r.app.Snapshot(r.t.Context())
	must(r.t, err)
	must(r.t, r.app.Do(r.t.Context(), tree.Find(button("Skip"))[1], "press"))
	r.press("Go to ChatGPT", "press")
	r.journalled("click", line{Control: "goToChatGPT"})
	r.one(button("Go to ChatGPT"))

	r.restart(`{` + noKeyring + `, "main": {"missing": ["switch"], "doubled": ["composer", "send"]}}`)
	r.count(2, named("Send"))
	tree, err = r.app.Snapshot(r.t.Context())
	must(r.t, err)
	if n := len(atspi.Outermost(tree.Find(composer))); n != 2 {
		r.t.Errorf("%d composers", n)
	}
	r.count(0, popup("ChatGPT Work"))
}

func testTwice(r *rig) {
	r.restart(`{` + noKeyring + `, "screens": [{"kind": "announcement", "twice": true}, {"kind": "unknown", "title": "News"}, {"kind": "blank"}]}`)
	first := r.one(button("Continue with current model"))
	must(r.t, r.app.Do(r.t.Context(), first, "press"))
	r.await("another announcement", func(tree *atspi.Tree) bool {
		n, err := tree.One(button("Continue with current model"))
		return err == nil && n.Ref != first.Ref
	})
	r.press("Continue with current model", "press")
	r.one(heading("News"))
	r.press("Next", "press")
	r.awaitScreens("announcement", "announcement", "unknown", "blank")
}

// awaitScreens waits until the last run has shown just these after the splash.
func (r *rig) awaitScreens(want ...string) {
	r.t.Helper()
	r.poll(fmt.Sprint("the screens ", want), func() bool { return slices.Equal(r.screens(), want) })
}

func (r *rig) screens() (names []string) {
	for _, l := range r.lines("screen") {
		if names = append(names, l.Screen); l.Screen == "splash" {
			names = nil
		}
	}
	return names
}

func testBack(r *rig) {
	r.restart(`{` + noKeyring + `, "screens": [{"kind": "examples"}, {"kind": "confirm"}]}`)
	r.press("Skip", "press")
	r.press("Keep setting up", "press")
	r.press("Skip", "press")
	r.press("Go to ChatGPT", "press")
	r.awaitScreens("examples", "confirm", "examples", "confirm", "main")
}

func testStale(r *rig) {
	for _, stale := range []bool{true, false} {
		r.restart(fmt.Sprintf(`{`+noKeyring+`, "screens": [{"kind": "profession", "stale": %t}]}`, stale))
		radio := atspi.Query{Roles: []atspi.Role{atspi.RoleRadioButton}, Names: []string{"Engineering"}, States: atspi.Actionable}
		r.clickOn(r.one(radio))
		r.one(button("Continue"))
		if checked := r.one(radio).States.Has(atspi.StateChecked); checked == stale {
			r.t.Errorf("stale is %t and checked is %t", stale, checked)
		}
	}
}

// What a click does can take a while, in which further ones do nothing.
func testLate(r *rig) {
	r.restart(`{` + noKeyring + `, "screens": [{"kind": "announcement"}, {"kind": "confirm", "delayMs": 10000}]}`)
	r.press("Continue with current model", "press")
	r.press("Continue with current model", "press")
	r.one(button("Go to ChatGPT"))
	r.awaitScreens("announcement", "confirm")
	clicks := r.lines("click")
	if last := clicks[len(clicks)-1]; !last.Late || last.Control != "keepModel" {
		r.t.Errorf("the last click is %+v", last)
	}
}

func testSetupRoute(r *rig) {
	r.restart(`{` + noKeyring + `, "main": {"setupRouteMs": 10000}}`)
	r.one(composer)
	r.handOff("wiped")
	r.awaitScreens("main", "main", "main") // empty, with the draft, and as the set-up has it
	if got := r.lines("screen"); got[len(got)-2].Text != "wiped" {
		r.t.Errorf("shown %+v", got)
	}
	r.awaitDraft("")
	r.handOff("stays")
	r.awaitDraft("stays")
}

func testDrafts(r *rig) {
	for _, tt := range []struct{ handoff, want string }{
		{`{}`, "said"},
		{`{"draft": "lost", "after": 1}`, ""},
		{`{"draft": "kept", "after": 1}`, "before"},
		{`{"draft": "altered", "altered": "say", "after": 1, "surface": "Codex"}`, "say"},
	} {
		r.restart(`{` + noKeyring + `, "handoff": ` + tt.handoff + `}`)
		r.one(composer)
		r.handOff("before")
		r.awaitDraft("before")
		r.handOff("said")
		r.awaitDraft(tt.want)
		if strings.Contains(tt.handoff, "Codex") {
			r.one(popup("Codex"))
		}
	}
}

func testIgnored(r *rig) {
	r.restart(`{` + noKeyring + `, "handoff": {"ignored": true, "exit": 3}}`)
	r.one(composer)
	if _, status := r.trySecond("codex://new?prompt=x"); status != 3 {
		r.t.Errorf("exit status %d", status)
	}
	r.journalled("handoff", line{})
	if got := r.draft(); got != "" {
		r.t.Errorf("the draft is %q", got)
	}
}

func testEarlyHandOff(r *rig) {
	r.restart(`{` + noKeyring + `, "screens": [{"kind": "announcement"}]}`)
	r.one(button("Continue with current model"))
	r.handOff("too early")
	r.journalled("dropped", line{Screen: "announcement"})
	r.press("Continue with current model", "press")
	r.one(composer)
	if got := r.draft(); got != "" {
		r.t.Errorf("the draft is %q", got)
	}
}

func testCode(r *rig) {
	r.restart(`{` + noKeyring + `, "main": {"backticks": "code"}}`)
	r.one(composer)
	r.handOff("run `ls -l` in `a b`\nand ``` or ` alone")
	r.awaitDraft("run ls -l in a b\nand ``` or ` alone")
}

func testLongDraft(r *rig) {
	r.restart(`{` + noKeyring + `}`)
	r.one(composer)
	long := strings.Repeat("0123456789 – äöü\n", 200) + "end"
	r.handOff(long)
	r.awaitDraft(long)
}

func testTyped(r *rig) {
	r.restart(`{` + noKeyring + `}`)
	keyboard, err := r.display.OpenKeyboard(r.t.Context())
	must(r.t, err)
	must(r.t, r.app.Type(within(r.t), r.one(composer), "by hand", atspi.Input{Keyboard: keyboard}))
	r.one(button("Send"))
}

func testSplash(r *rig) {
	r.restart(`{"splash": {"until": "never"}}`)
	r.one(heading("ChatGPT"))
	if got := r.screens(); len(got) > 0 {
		r.t.Errorf("shown %q", got)
	}
}

// The same seed makes the same screens.
func testSeeds(r *rig) {
	first := r.second("chatgpt-standin://scenario?seed=7")
	if again := r.second("chatgpt-standin://scenario?seed=7"); again != first {
		r.t.Errorf("%s, and then %s", first, again)
	}
	var sc struct{ Seed int }
	must(r.t, json.Unmarshal([]byte(first), &sc))
	if sc.Seed != 7 {
		r.t.Errorf("seed %d", sc.Seed)
	}
}

func testSecondStart(r *rig) {
	for link, want := range map[string]int{
		"https://elsewhere": 1, "codex://settings": 1, "chatgpt-standin://scenario?seed=x": 1, "chatgpt-standin://scenario?file=%2Fnone": 1,
	} {
		if out, status := r.trySecond(link); status != want || out == "" {
			r.t.Errorf("%s: status %d, %q", link, status, out)
		}
	}
}
