package driver

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/session/atspi"
)

// TestRead: what a person would say of a screen that isn't as the table has it.
func TestRead(t *testing.T) {
	const goOnToo = "button:Go on to ChatGPT"
	type said struct {
		Screen                                string
		Lacking, Doubled, Disabled, Strangers []string
	}
	for name, tc := range map[string]struct {
		tree *atspi.Tree
		want said
	}{
		"nothing":            {shown(), said{}},
		"unknown":            {shown("heading:What's new", "button:Next"), said{Strangers: []string{"What's new", "Next"}}},
		"profession":         {shown(engineer, "radio:Design", "-button:Continue"), said{Screen: "profession", Strangers: []string{"Design"}}},
		"profession renamed": {shown("radio:Engineer", "radio:Design", "-button:Continue"), said{Screen: "profession", Lacking: []string{"Engineering"}, Strangers: []string{"Engineer", "Design"}}},
		"a Continue":         {shown("button:Continue"), said{}},
		"examples":           {shown(note, chart, "button:Skip"), said{Screen: "examples"}},
		"no Skip":            {shown(note, chart, "button:Not now"), said{Screen: "examples", Lacking: []string{"Skip"}, Strangers: []string{"Not now"}}},
		"half of it":         {shown(note, "button:Skip", "button:Skip"), said{Screen: "examples", Lacking: []string{"Turn this spreadsheet into a chart"}, Doubled: []string{"Skip"}}},
		"confirmation over":  {shown(note, chart, "button:Skip", goOnToo, keepOn), said{Screen: "confirmation", Lacking: []string{"Go to ChatGPT"}, Strangers: []string{"Go on to ChatGPT"}}},
		"announcement":       {shown(intro, keepModel, "button:Try it now"), said{Screen: "announcement", Strangers: []string{"Try it now"}}},
		"its heading":        {shown("heading:Meet our model", keepModel), said{Screen: "announcement", Lacking: []string{"Introducing "}, Strangers: []string{"Meet our model"}}},
		"composer":           {shown(onWork, "editor:", "-button:Send"), said{Screen: "composer", Disabled: []string{"Send"}}},
		"no switch":          {shown("button:Mode", "editor:", "button:Send"), said{Screen: "composer", Lacking: []string{english.Switch[Work].Label, english.Switch[Codex].Label}, Strangers: []string{"Mode"}}},
		"two composers":      {shown(onCodex, "editor:", "editor:", "button:Send"), said{Screen: "composer", Doubled: []string{"the composer"}}},
		"menu":               {shown(onWork, "editor:", "button:Send", toWork, "item:Code"), said{Screen: "menu", Lacking: []string{english.Item[Codex].Label}, Strangers: []string{"Code"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Read(tc.tree)
			got := said{r.Screen, names(r.Lacking), names(r.Doubled), names(r.Disabled), nil}
			for _, n := range r.Strangers {
				got.Strangers = append(got.Strangers, n.Name)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func names(parts []Part) (all []string) {
	for _, p := range parts {
		all = append(all, p.Name())
	}
	return all
}

// TestAdapt: a walk that goes on takes for each label that it lost the one that is most like it.
func TestAdapt(t *testing.T) {
	for name, tc := range map[string]struct {
		tree *atspi.Tree
		want map[string]string // by key
	}{
		"a button":      {shown(note, chart, "button:Skip for now"), map[string]string{"skip": "Skip for now"}},
		"of several":    {shown(intro, "button:Try it now", "button:Stay with your model"), map[string]string{"keepModel": "Stay with your model"}},
		"two at once":   {shown(note, "button:Make a chart of this spreadsheet", "button:Later"), map[string]string{"spreadsheet": "Make a chart of this spreadsheet", "skip": "Later"}},
		"another role":  {shown(note, chart, "radio:Skip"), map[string]string{"skip": ""}},
		"a profession":  {shown("radio:Software engineering", "radio:Design", "-button:Continue"), map[string]string{"engineering": "Software engineering"}},
		"the switch":    {shown("button:Mode: ChatGPT Work", "editor:", "button:Send"), map[string]string{switchKey(Work): "Mode: ChatGPT Work"}},
		"all as it was": {shown(onWork, "editor:", "button:Send"), map[string]string{}},
		"nothing known": {shown("button:Next"), map[string]string{}},
		"both menu items": {shown(onWork, "item:Work, for everybody", "item:Code, for developers"), map[string]string{
			"item " + string(Work): "Work, for everybody", "item " + string(Codex): "Code, for developers",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			in := &inspection{run: &run{wanted: Work, seen: tc.tree}, table: &english, instead: map[string]string{}}
			in.controls = english.clone()
			in.adapt()
			if d := cmp.Diff(tc.want, in.instead); d != "" {
				t.Error(d)
			}
			for _, p := range in.controls.parts() {
				if instead := tc.want[p.key]; instead != "" && p.Label != instead {
					t.Errorf("%s is still %q", p.key, p.Label)
				}
			}
		})
	}
}
