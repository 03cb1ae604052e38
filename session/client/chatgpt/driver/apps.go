package driver

import (
	"github.com/berth-run/berth/session/atspi"
)

// App is what is known of one app. A new version of an app that says something in other words is a new
// row of Known, with controls of its own.
type App struct {
	Name      string
	Versions  []string // that it was seen on
	BusNames  []string // on the accessibility bus, whatever the case
	Processes []string // its executable's base name; none: any
	Controls  *Controls
}

// Known are the apps that can be driven.
var Known = []App{
	{
		Name:     "chatgpt",
		Versions: []string{"26.915.31945"},
		BusNames: []string{"chatgpt", "codex", "codex-launcher"},
		Controls: &english,
	},
	{
		// berth's stand-in shows the same in Debian's Chromium, which registers as nothing else.
		Name:      "stand-in",
		Versions:  []string{"chromium 156"},
		BusNames:  []string{"Chromium"},
		Processes: []string{"chromium"},
		Controls:  &english,
	},
}

func (a App) identity(owns func(pid int) bool) atspi.Identity {
	return atspi.Identity{Names: a.BusNames, Processes: a.Processes, Owns: owns}
}

// Surface is one of the app's two modes, as an eval's clientOptions name it.
type Surface string

// The surfaces.
const (
	Work  Surface = "chatgpt-work"
	Codex Surface = "codex"
)

// Control is how a control is found, and what may be done with it.
type Control struct {
	Roles   []atspi.Role // any of these
	Label   string       // the whole name, to the letter
	Begins  bool         // Label is how the name begins
	Actions []string     // of which it must have exactly one
}

// Controls are an app's controls.
type Controls struct {
	Engineering   Control // a profession
	Continue      Control
	LeaveNote     Control // an example
	Spreadsheet   Control // another
	Skip          Control
	GoToChatGPT   Control
	KeepSettingUp Control
	Announcement  Control // of a model
	KeepModel     Control
	Switch        map[Surface]Control // of modes, while one is on
	Item          map[Surface]Control // of the switch's menu
	Editor        Control             // of the composer; it has no name of its own
	Send          Control
	// SignIn and Permission are buttons of dialogs and pages that only a person could answer. Beside are those
	// that come with them: by one alone the driver doesn't go.
	SignIn, Permission, Beside []Control
	// Labels may be told of a screen that wasn't understood; nothing else that it says may.
	Labels []string
}

// Roles go by their numbers: 43 is "push button" up to at-spi2-core 2.52, "button" since.
var (
	buttons = []atspi.Role{atspi.RoleButton}
	choices = []atspi.Role{atspi.RoleRadioButton, atspi.RoleToggleButton}
	items   = []atspi.Role{atspi.RoleMenuItem}
	editors = []atspi.Role{atspi.RoleEntry, atspi.RoleText, atspi.RoleParagraph}
	titles  = []atspi.Role{atspi.RoleDialog, atspi.RoleAlert, atspi.RoleHeading}
)

func button(label string) Control {
	return Control{Roles: buttons, Label: label, Actions: []string{"click", "press"}}
}

// english is the app in English (contract §4.3).
var english = Controls{
	Engineering:   Control{Roles: choices, Label: "Engineering"}, // clicked with the pointer
	Continue:      button("Continue"),
	LeaveNote:     button("Leave a note on my Desktop"),
	Spreadsheet:   button("Turn this spreadsheet into a chart"),
	Skip:          button("Skip"),
	GoToChatGPT:   button("Go to ChatGPT"),
	KeepSettingUp: button("Keep setting up"),
	Announcement:  Control{Roles: titles, Label: "Introducing ", Begins: true},
	KeepModel:     button("Continue with current model"),
	Switch: map[Surface]Control{
		Work:  {Roles: buttons, Label: "Switch mode, current mode: ChatGPT Work", Actions: []string{"open"}},
		Codex: {Roles: buttons, Label: "Switch mode, current mode: Codex", Actions: []string{"open"}},
	},
	Item: map[Surface]Control{
		Work:  {Roles: items, Label: "ChatGPT Work Create, learn, and explore", Actions: []string{"select"}},
		Codex: {Roles: items, Label: "Codex Build, debug, and ship", Actions: []string{"select"}},
	},
	Editor: Control{Roles: editors},
	Send:   button("Send"),

	SignIn:     []Control{button("Log in"), button("Sign in")},
	Permission: []Control{button("Allow")},
	Beside:     []Control{button("Sign up"), button("Deny"), button("Approve"), button("Decline"), button("Unlock")},
	Labels: []string{
		"Allow", "Cancel", "ChatGPT Work Create, learn, and explore", "Close", "Codex Build, debug, and ship",
		"Continue", "Engineering", "Get started", "Go to ChatGPT", "Keep setting up",
		"Leave a note on my Desktop", "Log in", "New chat", "Open", "Open Codex", "Send", "Settings", "Sign in",
		"Skip", "Try again",
	},
}
