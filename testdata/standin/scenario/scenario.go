// Package scenario says how the stand-in behaves: which screens it shows before its main one, in what
// order and how late, what is doubled, missing or without effect, and what becomes of a hand-off and
// of a Send. A scenario is JSON that a test writes, or is made of a seed.
package scenario

// Kind is a screen that stands before the main one.
type Kind string

// The screens. Those from Unknown on are none of the contract's.
const (
	Profession   Kind = "profession"
	Examples     Kind = "examples"
	Confirm      Kind = "confirm"
	Announcement Kind = "announcement"
	Unknown      Kind = "unknown"
	Blank        Kind = "blank"
	SignIn       Kind = "signIn"     // somebody has to
	Permission   Kind = "permission" // a dialog that asks for one
)

// Surface is a mode of the app.
type Surface string

// The surfaces, as the app's switch calls them.
const (
	Work  Surface = "ChatGPT Work"
	Codex Surface = "Codex"
)

// Crash is how the app ends.
type Crash string

// The crashes.
const (
	CrashNone Crash = ""
	CrashExit Crash = "exit" // ends itself, status 133
	CrashKill Crash = "kill" // as by the kernel
)

// Scenario is how the stand-in behaves from its splash on. The zero value goes straight to the main
// screen; Default goes through all of them.
type Scenario struct {
	// Seed, if given, makes all of it, and nothing else may be given but Log.
	Seed *uint64 `json:"seed,omitempty"`
	// Log is where to append what happened, as JSON lines; "" is chatgpt-standin.jsonl below
	// $XDG_STATE_HOME, else ~/.local/state.
	Log     string   `json:"log,omitempty"`
	Splash  Splash   `json:"splash,omitzero"`
	Screens []Screen `json:"screens,omitempty"`
	// Besides is what else is on screen.
	Besides Besides `json:"besides,omitempty"`
	// Surface is what the app shows at first; "" is Work.
	Surface Surface `json:"surface,omitempty"`
	// Remember keeps in the profile that the screens before the main one were passed: they don't come again.
	Remember bool `json:"remember,omitempty"`
	// Labels are what controls say instead, by their names in labels.json, as in a later version.
	Labels  map[string]string `json:"labels,omitempty"`
	Main    Main              `json:"main,omitzero"`
	Handoff Handoff           `json:"handoff,omitzero"`
	Send    Send              `json:"send,omitzero"`
}

// Besides is something beside the app's window.
type Besides string

// What there may be beside the app's window.
const (
	BesidesWindow Besides = "window" // another window of the app, with something else in it
	BesidesTwin   Besides = "twin"   // another with the same in it, with the first hand-off, which is answered when it's there
	BesidesApp    Besides = "app"    // another app by the same name, started by this one
	BesidesLater  Besides = "later"  // that, with the first hand-off, which is answered when it's there
)

// FromStart tells whether the splash waits for it. A twin can't be there from the start: of two windows
// that draw the same, one is the first, and for as long the only one.
func (b Besides) FromStart() bool { return b == BesidesWindow || b == BesidesApp }

// Splash is what the app shows until its keyring is open.
type Splash struct {
	// Until is "unlocked", also meant by "", "shown" to ask for no keyring, "never", or "locked" to lock
	// the keyring and wait.
	Until   Until `json:"until,omitempty"`
	DelayMS int   `json:"delayMs,omitempty"` // before the first screen
	Crash   Crash `json:"crash,omitempty"`
}

// Until is what a splash waits for.
type Until string

// What a splash waits for.
const (
	Unlocked Until = "unlocked"
	Shown    Until = "shown"
	Never    Until = "never"
	Locked   Until = "locked"
)

// Screen is one screen before the main one. Until it's shown, the one before it stays and does nothing.
type Screen struct {
	Kind    Kind `json:"kind"`
	DelayMS int  `json:"delayMs,omitempty"`
	// Twice shows it again when it has been passed.
	Twice bool `json:"twice,omitempty"`
	// Stale leaves a chosen radio button unchecked.
	Stale bool `json:"stale,omitempty"`
	// Title is an unknown screen's.
	Title string `json:"title,omitempty"`
	Controls
	Crash Crash `json:"crash,omitempty"`
}

// Controls says what is wrong with a screen's controls, by their names in labels.json.
type Controls struct {
	Missing []string `json:"missing,omitempty"` // not there
	Doubled []string `json:"doubled,omitempty"` // there twice
	Dead    []string `json:"dead,omitempty"`    // there, and without effect
	// Fatal ones end the app when they're acted on.
	Fatal map[string]Crash `json:"fatal,omitempty"`
}

// Main is the main screen, with its composer.
type Main struct {
	DelayMS int `json:"delayMs,omitempty"`
	Controls
	Crash Crash `json:"crash,omitempty"`
	// SetupRouteMS is when, after the main screen came, a late route of the set-up opens an empty
	// thread in place of what is there, once; 0 is never.
	SetupRouteMS int `json:"setupRouteMs,omitempty"`
	// SendMS is how long Send stays disabled though there is a draft.
	SendMS int `json:"sendMs,omitempty"`
	// Announced lays the announcement over a new thread once, when a draft is handed over.
	Announced bool `json:"announced,omitempty"`
	// Backticks is "code" to show what is between single ones as code without them; "" keeps them.
	Backticks string `json:"backticks,omitempty"`
}

// BackticksCode is Main.Backticks for code spans.
const BackticksCode = "code"

// Handoff is what becomes of codex://new links that a second start hands over.
type Handoff struct {
	SettleMS int `json:"settleMs,omitempty"` // before the route is followed
	// Draft is "shown", also meant by "", "lost" for an empty composer, "kept" to change nothing, or
	// "altered" to show Altered.
	Draft   Draft  `json:"draft,omitempty"`
	Altered string `json:"altered,omitempty"`
	// Surface is what the new thread is in; "" is the one shown.
	Surface Surface `json:"surface,omitempty"`
	// Ignored: the second start exits with 0 and nothing else happens.
	Ignored bool `json:"ignored,omitempty"`
	// After leaves so many hand-offs alone before the above holds: with 1, that of a set-up's empty draft.
	After int `json:"after,omitempty"`
	// Exit is the second start's status, HangMS how long it takes.
	Exit   int   `json:"exit,omitempty"`
	HangMS int   `json:"hangMs,omitempty"`
	Crash  Crash `json:"crash,omitempty"` // of the app
	// EmptiedBy is a control of the main screen that, when it's acted on, has an empty thread take the draft's
	// place, once.
	EmptiedBy string `json:"emptiedBy,omitempty"`
}

// Draft is what becomes of a hand-off's prompt.
type Draft string

// What becomes of a draft.
const (
	DraftShown   Draft = "shown"
	DraftLost    Draft = "lost"
	DraftKept    Draft = "kept"
	DraftAltered Draft = "altered"
)

// Send is what becomes of a prompt that is sent.
type Send struct {
	DelayMS int `json:"delayMs,omitempty"` // before the turn starts
	// Prompt is how Codex gets it: "exact", also meant by "", "newline" with one added, or "escaped"
	// with backslashes before Markdown's punctuation.
	Prompt Prompt `json:"prompt,omitempty"`
	Crash  Crash  `json:"crash,omitempty"`
	// BegunMS has the crash wait until Codex has begun the turn, and so long besides; 0 is at once.
	BegunMS int `json:"begunMs,omitempty"`
	// Originator is who Codex is told that the app is; "" is the surface's.
	Originator string `json:"originator,omitempty"`
	// Model and Effort are others than the config's.
	Model  string `json:"model,omitempty"`
	Effort string `json:"effort,omitempty"`
	Record Record `json:"record,omitempty"`
	// Asks shows another screen once its turn has begun: "permission".
	Asks Kind `json:"asks,omitempty"`
}

// Record is what becomes of Codex's own record of a turn.
type Record string

// What becomes of a record. All but the first are made of what Codex wrote somewhere else.
const (
	RecordWritten   Record = ""
	RecordLate      Record = "late"      // written a second after the turn is done
	RecordElsewhere Record = "elsewhere" // written into a folder where records aren't
	RecordTruncated Record = "truncated" // its last line isn't whole
	RecordRepeated  Record = "repeated"  // a line isn't whole and comes again
	RecordOther     Record = "other"     // it's that of another thread, with another prompt
	RecordTwice     Record = "twice"     // that of another thread with the same prompt is there too
	RecordNever     Record = "never"
)

// Prompt is how a prompt reaches Codex.
type Prompt string

// How a prompt reaches Codex.
const (
	PromptExact   Prompt = "exact"
	PromptNewline Prompt = "newline"
	PromptEscaped Prompt = "escaped"
)

// Default goes through all first-run screens and an announcement, as a fresh profile does.
func Default() Scenario {
	return Scenario{
		Splash: Splash{DelayMS: 300},
		Screens: []Screen{
			{Kind: Profession, DelayMS: 300, Stale: true},
			{Kind: Examples, DelayMS: 300},
			{Kind: Confirm},
			{Kind: Announcement, DelayMS: 500},
		},
		Main:    Main{SetupRouteMS: 1500},
		Handoff: Handoff{SettleMS: 300},
	}
}
