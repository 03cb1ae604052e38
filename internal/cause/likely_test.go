package cause

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/berth-run/berth/session/client/evidence"
)

var begun = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// asked is the first step of every trial here.
func asked() evidence.Step {
	return evidence.Step{At: begun, What: evidence.Asked, Trial: &evidence.Trial{
		CaseID: "x", Surface: "chatgpt-work", Model: "m", Effort: "high", Originator: "codex_work_desktop",
		Servers: []string{"wiki"}, RequireMCPCalls: true, PromptSHA256: "abc", PromptLength: 5, TimeoutMs: 60_000,
	}}
}

func step(s evidence.Step, after time.Duration) evidence.Step { s.At = begun.Add(after); return s }

var (
	handed = step(evidence.Step{What: evidence.Handoff, Text: "exit status 0"}, time.Second)
	sent   = step(evidence.Step{What: evidence.Action, Screen: "send", Role: "button", Name: "Send", Action: "press"}, 2*time.Second)
)

// page is a tree whose page shows lines of `role "name"`, each of them to be seen and used.
func page(lines ...string) string {
	const can = " 10x10+0+0 can press [enabled sensitive showing visible]\n"
	text := "application \"Chromium\" [enabled]\n  frame \"ChatGPT\" [showing visible]\n    document web \"\" 100x80+0+0 [showing visible]\n"
	for _, l := range lines {
		if strings.HasPrefix(l, "entry") {
			text += "      " + l + " 10x10+0+0 [editable enabled sensitive showing visible]\n"
			continue
		}
		text += "      " + l + can
	}
	return text
}

const onWork = `button "Switch mode, current mode: ChatGPT Work"`

func draft(surface string, length int, sum string) evidence.Step {
	body := fmt.Sprintf(`{"observedSurface": %q, "composerRootCount": 1, "textReadable": true, "textLength": %d, "textSha256": %q}`, surface, length, sum)
	return step(evidence.Step{What: evidence.Draft, Draft: json.RawMessage(body)}, 10*time.Second)
}

// record is Codex's, of a turn in its own lines.
func record(lines ...string) string {
	text := `{"timestamp":"2026-11-29T12:00:02Z","type":"session_meta","payload":{"id":"s","originator":"codex_work_desktop","cli_version":"1"}}
{"timestamp":"2026-11-29T12:00:02Z","type":"event_msg","payload":{"type":"task_started","turn_id":"t","started_at":1}}
{"timestamp":"2026-11-29T12:00:02Z","type":"turn_context","payload":{"turn_id":"t","model":"m","effort":"high"}}
`
	for _, l := range lines {
		text += `{"timestamp":"2026-11-29T12:00:03Z","type":"event_msg","payload":` + l + "}\n"
	}
	return text
}

const matched = "matched-rollout-x.jsonl"

// TestLikely: each rule, by the least that it goes by.
func TestLikely(t *testing.T) {
	records := func(r ...evidence.Record) evidence.Step {
		return step(evidence.Step{What: evidence.Records, Records: r}, 20*time.Second)
	}
	for name, tc := range map[string]struct {
		steps []evidence.Step
		files map[string]string
		want  string
		words string
	}{
		"nothing":        {nil, nil, "unknown", "no picture"},
		"desktop":        {[]evidence.Step{asked(), {What: evidence.Ended, Name: "desktop", Text: "display (Xvfb) ended"}}, nil, "desktop_ended", "Xvfb"},
		"keyring":        {[]evidence.Step{{What: evidence.Keyring, Text: "the login keyring is locked"}}, nil, "keyring", "is locked"},
		"disk":           {nil, map[string]string{"chatgpt-app.log": "write: No space left on device\n"}, "disk_full", "No space left"},
		"app, early":     {[]evidence.Step{{What: evidence.Ended, Name: "app", Text: "exit status 133"}}, nil, "app_ended", "while it was brought up (exit status 133)"},
		"app, sent":      {[]evidence.Step{asked(), handed, sent, {What: evidence.Ended, Name: "app", Text: "signal: killed"}}, map[string]string{"chatgpt-app.log": "[1:2] noise\nfatal: gone\n[3:4] more\n"}, "app_ended", "after the prompt was sent (signal: killed); the last that it said: fatal: gone"},
		"server":         {[]evidence.Step{{What: evidence.Server, Name: "wiki", Text: "no tools"}}, nil, "mcp_server", "wiki wasn't ready: no tools"},
		"hand-off":       {[]evidence.Step{asked(), {What: evidence.Handoff, Text: "exit status 3"}}, nil, "handoff", "exit status 3"},
		"aborted":        {[]evidence.Step{asked(), sent}, map[string]string{matched: record(`{"type":"turn_aborted","turn_id":"t","reason":"interrupted"}`)}, "turn_aborted", "interrupted"},
		"another model":  {[]evidence.Step{asked(), sent}, map[string]string{matched: strings.ReplaceAll(record(), `"m"`, `"n"`)}, "other_model", `model "n", and "m"`},
		"another effort": {[]evidence.Step{asked(), sent}, map[string]string{matched: strings.ReplaceAll(record(), "high", "low")}, "other_model", `effort "low", and "high"`},
		"stalled":        {[]evidence.Step{asked(), sent, step(evidence.Step{What: evidence.Timed, Name: "turn", Ms: 60_000}, 3*time.Second)}, map[string]string{matched: record()}, "turn_stalled", "nothing was written for 1m1s"},
		"no answer":      {[]evidence.Step{asked(), sent}, map[string]string{matched: record(`{"type":"task_complete","turn_id":"t"}`)}, "no_answer", "without a final answer"},
		"no call":        {[]evidence.Step{asked(), sent}, map[string]string{matched: record(`{"type":"task_complete","turn_id":"t","last_agent_message":"hm"}`)}, "no_mcp_call", "(wiki)"},
		"no effect":      {[]evidence.Step{asked(), handed, sent, draft("chatgpt-work", 5, "abc")}, nil, "send_without_effect", "still holds"},
		"originator":     {[]evidence.Step{asked(), handed, sent, records(evidence.Record{Originator: "other", Prompts: 1, Same: true})}, nil, "other_originator", `by "other"`},
		"elsewhere":      {[]evidence.Step{asked(), handed, sent, records(evidence.Record{Elsewhere: true})}, nil, "record_elsewhere", "another folder"},
		"other prompt":   {[]evidence.Step{asked(), handed, sent, records(evidence.Record{Originator: "codex_work_desktop", Prompts: 1})}, nil, "prompt_changed", "its prompt is another"},
		"no record":      {[]evidence.Step{asked(), handed, sent, records()}, map[string]string{"accessibility-tree.txt": page(`heading "Something went wrong"`)}, "no_record", `began no session for it in 18s; the app shows "Something went wrong"`},
		"two apps":       {[]evidence.Step{asked()}, map[string]string{"accessibility-tree.txt": "no tree: x\n2 on the accessibility bus:\n\"a\" the app's own: true\n\"a\" the app's own: true\n"}, "app_not_found", "2 apps answer"},
		"blank":          {[]evidence.Step{asked()}, map[string]string{"accessibility-tree.txt": page(), "x.png": picture(t, false)}, "blank_window", "blank"},
		"not blank":      {[]evidence.Step{asked()}, map[string]string{"accessibility-tree.txt": page(), "x.png": picture(t, true)}, "unknown", "screenshot"},
		"sign-in":        {[]evidence.Step{asked()}, map[string]string{"accessibility-tree.txt": page(`heading "Welcome back"`, `button "Log in"`)}, "dialog", `("Welcome back"): it offers "Log in"`},
		"splash":         {[]evidence.Step{}, map[string]string{"accessibility-tree.txt": page(`heading "ChatGPT"`)}, "splash", `"ChatGPT"`},
		"unknown screen": {[]evidence.Step{}, map[string]string{"accessibility-tree.txt": page(`heading "News"`, `button "Next"`)}, "unknown_screen", `("News"); it offers "Next"`},
		"surface":        {[]evidence.Step{asked(), draft("codex", 0, "")}, map[string]string{"accessibility-tree.txt": page(strings.ReplaceAll(onWork, "ChatGPT Work", "Codex"), `entry ""`, `button "Send"`)}, "other_surface", "is on surface codex"},
		"missing":        {nil, map[string]string{"accessibility-tree.txt": page(onWork, `entry ""`, `button "Submit"`)}, "control_missing", `composer screen has no "Send"; what it has instead may be "Submit"`},
		"doubled":        {nil, map[string]string{"accessibility-tree.txt": page(onWork, `entry ""`, `entry ""`, `button "Send"`)}, "control_doubled", "more than one composer"},
		"lost":           {[]evidence.Step{asked(), handed, draft("chatgpt-work", 0, "")}, map[string]string{"accessibility-tree.txt": page(onWork, `entry ""`, `button "Send"`)}, "draft_lost", "stayed empty"},
		"lost later":     {[]evidence.Step{asked(), handed, {What: evidence.Screen, Name: "draft-readback"}, draft("chatgpt-work", 0, "")}, map[string]string{"accessibility-tree.txt": page(onWork, `entry ""`, `button "Send"`)}, "draft_lost", "is gone from it"},
		"another text":   {[]evidence.Step{asked(), handed, draft("chatgpt-work", 12, "def")}, map[string]string{"accessibility-tree.txt": page(onWork, `entry ""`, `button "Send"`)}, "draft_differs", "12 characters, and the prompt has 5"},
		"without effect": {[]evidence.Step{{What: evidence.Action, Screen: "examples", Name: "Skip"}}, map[string]string{"accessibility-tree.txt": page(`button "Leave a note on my Desktop"`, `button "Turn this spreadsheet into a chart"`, `button "Skip"`)}, "action_without_effect", `"Skip" was activated on the examples screen`},
		"too slow":       {[]evidence.Step{asked(), step(evidence.Step{What: evidence.Timed, Name: "submit", Ms: 60_000}, time.Second)}, nil, "too_slow", "60 s"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := evidence.WriteSteps(&b, tc.steps); err != nil {
				t.Fatal(err)
			}
			fsys := fstest.MapFS{"d/" + evidence.StepsFile: {Data: b.Bytes()}}
			paths := []string{}
			for file, text := range tc.files {
				fsys["d/"+file] = &fstest.MapFile{Data: []byte(text)}
				paths = append(paths, "d/"+file)
			}
			got := Read(fsys, append(paths, "d/"+evidence.StepsFile, "d/absent.log")).Likely()
			if got.Name != tc.want || !strings.Contains(got.Sentence, tc.words) {
				t.Errorf("%s: %s\nwant %s with %q", got.Name, got.Sentence, tc.want, tc.words)
			}
		})
	}
}

// picture is of one colour, or has a line of text in it.
func picture(t *testing.T, text bool) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 200, 160))
	for y := range 160 {
		for x := range 200 {
			c := color.RGBA{250, 250, 250, 255}
			if text && y > 30 && y < 40 && x > 20 && x < 60 {
				c = color.RGBA{A: 255}
			}
			img.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
