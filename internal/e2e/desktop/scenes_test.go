package desktop

import (
	"strings"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/session/client/chatgpt"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
)

// scene is one way of the stand-in, and what a trial with it must come to.
type scene struct {
	name   string
	app    rig.Object       // testdata/standin's scenario
	limits chatgpt.LimitsMs // shorter than the contract's, where what is waited for can't come
	// options are clientOptions; prompt is what is sent after the scene's tag.
	options rig.Object
	prompt  string
	want
}

// want is a trial's outcome.
type want struct {
	outcome string    // passed, failed, infra; "" is passed
	code    code.Code // "": no failure
	words   string    // in the error
	phase   driver.Phase
	step    driver.Step
	// prepared and done are how many actions Prepare and Submit took. A Submit that isn't reached has none.
	prepared, done int
	sent, turns    int // activations of Send, turns at the gateway
}

// What Prepare and Submit take when the app shows its composer at once.
const plainPrepare, plainSubmit = 1, 2

func passes(prepared, done int) want {
	return want{outcome: "passed", prepared: prepared, done: done, sent: 1, turns: 1}
}

var plain = passes(plainPrepare, plainSubmit)

// unprepared is a Prepare that fails: nothing is sent.
func unprepared(c code.Code, phase driver.Phase, prepared int) want {
	return want{outcome: "infra", code: c, phase: phase, prepared: prepared}
}

// unsent is a Submit that fails before Send.
func unsent(c code.Code, phase driver.Phase, step driver.Step, done int) want {
	return want{outcome: "infra", code: c, phase: phase, step: step, prepared: plainPrepare, done: done}
}

// spoilt is a trial that fails after Send.
func spoilt(outcome string, c code.Code, turns int) want {
	return want{outcome: outcome, code: c, prepared: plainPrepare, done: plainSubmit, sent: 1, turns: turns}
}

func screens(all ...rig.Object) rig.Object { return rig.Object{"screens": all} }

func screen(kind string, more ...rig.Object) rig.Object {
	s := rig.Object{"kind": kind}
	for _, m := range more {
		for k, v := range m {
			s[k] = v
		}
	}
	return s
}

func missing(names ...string) rig.Object { return rig.Object{"missing": names} }
func doubled(names ...string) rig.Object { return rig.Object{"doubled": names} }

// fatal is a control that ends the app.
func fatal(name, crash string) rig.Object { return rig.Object{"fatal": rig.Object{name: crash}} }

// crashBeforeSend is an app that ends when a draft's surface is about to be corrected.
func crashBeforeSend() rig.Object {
	app := handoffWith(rig.Object{"surface": codex})
	app["main"] = fatal("switch", "kill")
	return app
}

// relabelled is app with another text on a control.
func relabelled(name string, app rig.Object) rig.Object {
	app["labels"] = rig.Object{name: "Something else"}
	return app
}
func mainWith(o rig.Object) rig.Object    { return rig.Object{"main": o} }
func handoffWith(o rig.Object) rig.Object { o["after"] = 1; return rig.Object{"handoff": o} } // that of the prompt
func sendWith(o rig.Object) rig.Object    { return rig.Object{"send": o} }

// allScreens are those of the contract, each with more.
func allScreens(more ...rig.Object) rig.Object {
	return screens(screen("profession", more...), screen("examples", more...), screen("confirm", more...), screen("announcement", more...))
}

// Where something is waited for that can't come, it isn't for long.
var (
	briefFirst  = chatgpt.LimitsMs{FirstUI: 15_000}
	briefScreen = chatgpt.LimitsMs{Screen: 15_000}
	briefDraft  = chatgpt.LimitsMs{Draft: 15_000}
	briefBind   = chatgpt.LimitsMs{Bind: 20_000}
	briefStall  = chatgpt.LimitsMs{Stall: 15_000}
	// What comes meanwhile isn't waited for, and must have come.
	longSettle = chatgpt.LimitsMs{Settle: 15_000}
)

// planes has characters of every plane that has any, and of the two for private use.
const planes = "aé漢\U00010400\U0001F600\U00020000\U00030000\U000E0041\U000F0000\U00100000"

// filled is a prompt of so many bytes once it's percent-encoded, with characters of every plane.
func filled(encoded int) string {
	const line = 1 + 2*3 + 3*3 + 7*4*3 // of planes, encoded
	lines := encoded / line
	return strings.Repeat(planes, lines) + strings.Repeat("a", encoded-lines*line)
}

// marketplace is where the scenes' image has one, with a plugin called notes.
const marketplace = "/opt/marketplace"

func plugin(name, source string) rig.Object {
	return rig.Object{"plugins": []rig.Object{{"name": name, "marketplace": rig.Object{"source": source}}}}
}

const codex = "Codex"

// scenes is the table: each screen of the contract's §4.3 present, absent, late, doubled and relabelled, and
// every other thing that an app may do to a prompt.
var scenes = []scene{
	{name: "every screen", app: allScreens(), want: passes(6, 2)},
	{name: "no screen", app: rig.Object{}, want: plain},
	{name: "no profession", app: screens(screen("examples"), screen("confirm"), screen("announcement")), want: passes(4, 2)},
	{name: "no examples", app: screens(screen("profession"), screen("announcement")), want: passes(4, 2)},
	{name: "no confirmation", app: screens(screen("profession"), screen("examples"), screen("announcement")), want: passes(5, 2)},
	{name: "no announcement", app: screens(screen("profession"), screen("examples"), screen("confirm")), want: passes(5, 2)},
	{name: "every screen late", app: allScreens(rig.Object{"delayMs": 1500}), want: passes(6, 2)},
	{name: "late composer", app: mainWith(rig.Object{"delayMs": 4000}), want: plain},
	{name: "every screen twice", app: allScreens(rig.Object{"twice": true}), want: passes(11, 2)},
	{name: "stale radio button", app: screens(screen("profession", rig.Object{"stale": true})), want: passes(3, 2)},
	{name: "late route of the set-up", app: mainWith(rig.Object{"setupRouteMs": 1000}), limits: longSettle, want: plain},

	{name: "two professions", app: screens(screen("profession", doubled("engineering"))), limits: briefScreen,
		want: unprepared(code.ProfessionAmbiguous, driver.ProfessionSelected, 0)},
	{name: "two Continue", app: screens(screen("profession", doubled("continue"))), limits: briefScreen,
		want: unprepared(code.ContinueMissingOrAmbiguous, driver.ProfessionSelected, 1)},
	{name: "two Skip", app: screens(screen("examples", doubled("skip"))), limits: briefScreen,
		want: unprepared(code.SkipMissingOrAmbiguous, driver.IntroDismiss, 0)},
	{name: "two examples of a kind", app: screens(screen("examples", doubled("note"))), limits: briefScreen,
		want: unprepared(code.SkipMissingOrAmbiguous, driver.IntroDismiss, 0)},
	{name: "two Go to ChatGPT", app: screens(screen("confirm", doubled("goToChatGPT"))), limits: briefScreen,
		want: unprepared(code.IntroConfirmationAmbiguous, driver.IntroDismiss, 0)},
	{name: "two ways out of the announcement", app: screens(screen("announcement", doubled("keepModel"))), limits: briefScreen,
		want: unprepared(code.ActionMissingOrAmbiguous, driver.IntroDismiss, 0)},
	{name: "two mode switches", app: mainWith(doubled("switch")), limits: briefScreen,
		want: unprepared(code.ModeMissingOrAmbiguous, driver.AtSurface, 0)},
	{name: "two composers", app: mainWith(doubled("composer")), limits: briefScreen,
		want: unprepared(code.ComposerMissingOrAmbiguous, driver.AtComposer, 0)},
	{name: "two Send", app: mainWith(doubled("send")), limits: briefScreen,
		want: unprepared(code.SendMissingOrAmbiguous, driver.AtComposer, 0)},
	{name: "two Codex in the menu", app: mainWith(doubled("codex")), options: rig.Object{"surface": "codex"}, limits: briefScreen,
		want: unprepared(code.SurfaceItemAmbiguous, driver.AtSurface, 1)},

	{name: "no Continue", app: screens(screen("profession", missing("continue"))), limits: briefScreen,
		want: unprepared(code.ContinueMissingOrAmbiguous, driver.ProfessionSelected, 1)},
	{name: "no mode switch", app: mainWith(missing("switch")), limits: briefFirst,
		want: unprepared(code.StateTransitionUnobserved, driver.WaitingForInitialUI, 0)},
	{name: "no composer", app: mainWith(missing("composer")), limits: briefScreen,
		want: unprepared(code.ComposerMissingOrAmbiguous, driver.AtComposer, 0)},
	{name: "no Send", app: mainWith(missing("send")), limits: briefScreen,
		want: unprepared(code.SendMissingOrAmbiguous, driver.AtComposer, 0)},

	{name: "profession relabelled", app: relabelled("engineering", screens(screen("profession"))), limits: briefFirst,
		want: unprepared(code.StateTransitionUnobserved, driver.WaitingForInitialUI, 0)},
	{name: "Continue relabelled", app: relabelled("continue", screens(screen("profession"))), limits: briefScreen,
		want: unprepared(code.ContinueMissingOrAmbiguous, driver.ProfessionSelected, 1)},
	{name: "example relabelled", app: relabelled("chart", screens(screen("examples"))), limits: briefFirst,
		want: unprepared(code.StateTransitionUnobserved, driver.WaitingForInitialUI, 0)},
	{name: "Skip relabelled", app: relabelled("skip", screens(screen("examples"))), limits: briefScreen,
		want: unprepared(code.SkipMissingOrAmbiguous, driver.IntroDismiss, 0)},
	{name: "Go to ChatGPT relabelled", app: relabelled("goToChatGPT", screens(screen("confirm"))), limits: briefFirst,
		want: unprepared(code.StateTransitionUnobserved, driver.WaitingForInitialUI, 0)},
	{name: "way out of the announcement relabelled", app: relabelled("keepModel", screens(screen("announcement"))), limits: briefScreen,
		want: unprepared(code.ActionMissingOrAmbiguous, driver.IntroDismiss, 0)},
	{name: "mode switch relabelled", app: relabelled("switchWork", rig.Object{}), limits: briefFirst,
		want: unprepared(code.StateTransitionUnobserved, driver.WaitingForInitialUI, 0)},
	{name: "menu relabelled", app: relabelled("codex", rig.Object{}), options: rig.Object{"surface": "codex"}, limits: briefScreen,
		want: unprepared(code.SurfaceItemAmbiguous, driver.AtSurface, 1)},
	{name: "Send relabelled", app: relabelled("send", rig.Object{}), limits: briefScreen,
		want: unprepared(code.SendMissingOrAmbiguous, driver.AtComposer, 0)},

	{name: "another window", app: rig.Object{"besides": "window"}, want: plain},
	{name: "the same in another window", app: rig.Object{"besides": "twin"}, limits: chatgpt.LimitsMs{Settle: 15_000, Screen: 15_000},
		want: want{outcome: "infra", code: code.ModeMissingOrAmbiguous, phase: driver.AtSurface, step: driver.DraftSurface, prepared: 1}},
	{name: "another app by the same name", app: rig.Object{"besides": "later"}, limits: longSettle,
		want: want{outcome: "infra", code: code.DesktopAmbiguous, phase: driver.AtComposer, step: driver.DraftOpen, prepared: 1}},
	{name: "blank window", app: screens(screen("blank")), limits: briefFirst,
		want: unprepared(code.StateTransitionUnobserved, driver.WaitingForInitialUI, 0)},
	{name: "unknown screen", app: screens(screen("unknown", rig.Object{"title": "News"})), limits: briefFirst,
		want: unprepared(code.StateTransitionUnobserved, driver.WaitingForInitialUI, 0)},
	{name: "permission at the start", app: screens(screen("permission")), limits: chatgpt.LimitsMs{Observe: 1_000},
		want: unprepared(code.PermissionRequired, driver.WaitingForInitialUI, 0)},
	{name: "sign-in", app: screens(screen("signIn")), limits: chatgpt.LimitsMs{Screen: 1_000},
		want: unprepared(code.SignInRequired, driver.WaitingForInitialUI, 0)},
	{name: "a plugin", app: rig.Object{}, options: plugin("notes", marketplace), want: plain},
	{name: "no such plugin", app: rig.Object{}, options: plugin("gone", marketplace), want: want{outcome: "infra",
		code: code.PluginSetupFailed, words: "plugin gone: codex plugin add --json: exit status 1: plugin `gone` was not found"}},
	{name: "no such marketplace", app: rig.Object{}, options: plugin("notes", "/nowhere"), want: want{outcome: "infra",
		code: code.PluginSetupFailed, words: "plugin notes: codex plugin marketplace add --json: exit status 1: "}},
	{name: "crash on a screen", app: screens(screen("examples", fatal("skip", "exit"))),
		want: unprepared(code.AppExited, driver.IntroDismiss, 1)},
	{name: "no action left", app: allScreens(), options: rig.Object{"nativeMaxActions": 3},
		want: unprepared(code.ActionBudgetExhausted, driver.IntroDismiss, 3)},

	{name: "the other surface", app: rig.Object{}, options: rig.Object{"surface": "codex"}, want: passes(3, 2)},
	{name: "mode corrected", app: handoffWith(rig.Object{"surface": codex}), want: passes(1, 4)},
	{name: "late draft", app: handoffWith(rig.Object{"settleMs": 3000}), limits: longSettle, want: plain},
	{name: "Send disabled for a while", app: mainWith(rig.Object{"sendMs": 3000}), want: plain},
	{name: "announcement over the draft", app: mainWith(rig.Object{"announced": true}), want: passes(1, 3)},
	{name: "draft lost to a late route", app: handoffWith(rig.Object{"surface": codex, "emptiedBy": "work"}), limits: briefScreen,
		want: unsent(code.DraftPromptNotApplied, driver.AtComposer, driver.DraftReadback, 3)},
	{name: "draft lost", app: handoffWith(rig.Object{"draft": "lost"}), limits: briefDraft,
		want: unsent(code.DraftPromptNotApplied, driver.AtSurface, driver.DraftOpen, 1)},
	{name: "draft altered", app: handoffWith(rig.Object{"draft": "altered", "altered": "something else"}), limits: briefDraft,
		want: unsent(code.StateTransitionUnobserved, driver.AtSurface, driver.DraftOpen, 1)},
	{name: "hand-off ignored", app: handoffWith(rig.Object{"ignored": true}), limits: briefDraft,
		want: unsent(code.DraftPromptNotApplied, driver.AtSurface, driver.DraftOpen, 1)},
	{name: "hand-off fails", app: handoffWith(rig.Object{"exit": 3}),
		want: unsent(code.URLHandoffFailed, driver.AtSurface, driver.DraftOpen, 1)},
	{name: "hand-off hangs", app: handoffWith(rig.Object{"hangMs": 600_000}), limits: chatgpt.LimitsMs{Handoff: 20_000},
		want: unsent(code.URLHandoffFailed, driver.AtSurface, driver.DraftOpen, 1)},

	{name: "a marker in the prompt", app: rig.Object{}, options: rig.Object{"correlation": "prompt_marker"}, want: plain},
	{name: "prompt of many lines", app: rig.Object{}, prompt: "one\n\n\ntwo\n  three\n", want: plain},
	{name: "prompt in many scripts", app: rig.Object{}, prompt: "Grüße, 漢字かな, עברית, 🙂👩‍👩‍👧 & 100 %?", want: plain},
	{name: "code shown as code", app: mainWith(rig.Object{"backticks": "code"}), prompt: "what does `ls -l` do, and `a``b`?", want: plain},
	{name: "Markdown escaped", app: sendWith(rig.Object{"prompt": "escaped"}), prompt: "say *hi* to snake_case [1] <b> # `x`", want: plain},
	{name: "a line feed more", app: sendWith(rig.Object{"prompt": "newline"}), want: plain},
	{name: "prompt just under the limit", app: rig.Object{}, prompt: filled(119<<10 - tagSize), want: plain},
	{name: "prompt just over the limit", app: rig.Object{}, prompt: filled(121<<10 - tagSize),
		want: want{outcome: "infra", code: code.PromptTooLarge, prepared: plainPrepare}},

	{name: "crash before Send", app: crashBeforeSend(), want: want{outcome: "infra", code: code.AppExited, words: "signal: killed",
		phase: driver.AtSurface, step: driver.DraftSurface, prepared: 1, done: 2}},
	{name: "crash during Send", app: mainWith(fatal("send", "kill")), want: want{outcome: "failed", code: code.AppExited, words: "signal: killed",
		phase: driver.AtComposer, step: driver.Send, prepared: 1, done: 2, sent: 1}},
	{name: "crash after Send", app: sendWith(rig.Object{"crash": "exit", "begunMs": 30_000}), prompt: "hang", want: want{outcome: "failed",
		code: code.AppExited, words: "exit status 133", prepared: 1, done: 2, sent: 1, turns: 1}},
	{name: "Send without effect", app: mainWith(rig.Object{"dead": []string{"send"}}), limits: chatgpt.LimitsMs{Screen: 15_000, Bind: 5_000},
		want: want{outcome: "failed", code: code.ActionAcknowledgementUncertain, phase: driver.AtComposer, step: driver.Send,
			prepared: 1, done: 2, sent: 1}},

	{name: "another originator", app: sendWith(rig.Object{"originator": "Codex Desktop"}), limits: briefBind,
		want: spoilt("failed", code.NoMatchingSession, 1)},
	{name: "record late", app: sendWith(rig.Object{"record": "late"}), want: plain},
	{name: "record elsewhere", app: sendWith(rig.Object{"record": "elsewhere"}), limits: briefBind,
		want: spoilt("failed", code.NoMatchingSession, 1)},
	{name: "record of another thread", app: sendWith(rig.Object{"record": "other"}), limits: briefBind,
		want: spoilt("failed", code.NoMatchingSession, 1)},
	{name: "records of two threads", app: sendWith(rig.Object{"record": "twice"}),
		want: spoilt("failed", code.AmbiguousMatchingSession, 1)},
	{name: "no record", app: sendWith(rig.Object{"record": "never"}), limits: briefBind,
		want: spoilt("failed", code.NoMatchingSession, 1)},
	{name: "record cut off", app: sendWith(rig.Object{"record": "truncated"}), limits: briefStall,
		want: spoilt("failed", code.Timeout, 1)},
	{name: "line cut off and repeated", app: sendWith(rig.Object{"record": "repeated"}), want: plain},
	{name: "another model", app: sendWith(rig.Object{"model": rig.CodeMode}), want: spoilt("failed", code.ClientRunFailed, 1)},
	{name: "another effort", app: sendWith(rig.Object{"effort": "low"}), options: rig.Object{"reasoningEffort": "high"},
		want: spoilt("failed", code.ClientRunFailed, 1)},
	{name: "turn stands still", app: rig.Object{}, prompt: "hang", limits: briefStall, want: spoilt("failed", code.Timeout, 1)},
	{name: "permission in a turn", app: sendWith(rig.Object{"asks": "permission"}), prompt: "hang", limits: chatgpt.LimitsMs{Asks: 10_000},
		want: spoilt("infra", code.PermissionRequired, 1)},

	// The last of its shard, since the keyring stays locked.
	{name: "keyring locked", app: rig.Object{"splash": rig.Object{"until": "locked"}},
		want: unprepared(code.KeyringLocked, driver.WaitingForInitialUI, 0)},
}
