package cause

// What a cause was seen in.
const (
	fromSteps   = "steps"
	fromTree    = "tree"
	fromLog     = "log"
	fromPicture = "picture"
	fromRecord  = "record"
)

// Cause is the likely one.
type Cause struct {
	// Name is the rule's, for scripts; "unknown" when nothing in the evidence tells.
	Name string `json:"name"`
	// Sentence is for a person.
	Sentence string `json:"sentence"`
	// From are the files that it was seen in.
	From []string `json:"from"`
}

// rule is one way to fail. It says a sentence when that is what the evidence shows, else "".
type rule struct {
	name string
	says func(*Evidence) string
	from []string
}

// rules are asked in turn: what took others with it comes before them, and what is sure before what is
// likely.
var rules = []rule{
	{"desktop_ended", desktopEnded, []string{fromSteps}},
	{"keyring", keyringShut, []string{fromSteps}},
	{"disk_full", diskFull, []string{fromLog, fromPicture}},
	{"app_ended", appEnded, []string{fromSteps, fromLog}},
	{"mcp_server", serverNotReady, []string{fromSteps}},
	{"handoff", handoffFailed, []string{fromSteps}},

	{"record_unreadable", recordUnreadable, []string{fromRecord}},
	{"model_unreachable", modelFailed, []string{fromRecord}},
	{"turn_failed", turnFailed, []string{fromRecord}},
	{"turn_aborted", turnAborted, []string{fromRecord}},
	{"other_model", otherModel, []string{fromSteps, fromRecord}},
	{"turn_stalled", turnStalled, []string{fromSteps, fromRecord}},
	{"no_answer", noAnswer, []string{fromRecord}},
	{"foreign_server", foreignServer, []string{fromSteps, fromRecord}},
	{"no_mcp_call", noCall, []string{fromSteps, fromRecord}},

	{"send_without_effect", sendWithoutEffect, []string{fromSteps}},
	{"other_originator", otherOriginator, []string{fromSteps}},
	{"record_elsewhere", recordElsewhere, []string{fromSteps}},
	{"prompt_changed", promptChanged, []string{fromSteps}},
	{"no_record", noRecord, []string{fromSteps, fromTree}},

	{"app_not_found", appNotFound, []string{fromTree}},
	{"blank_window", blank, []string{fromPicture, fromTree}},
	{"dialog", dialog, []string{fromTree}},
	{"splash", splash, []string{fromTree, fromPicture}},
	{"unknown_screen", unknownScreen, []string{fromTree}},
	{"other_surface", otherSurface, []string{fromSteps, fromTree}},
	{"control_missing", controlMissing, []string{fromTree}},
	{"control_doubled", controlDoubled, []string{fromTree}},
	{"draft_lost", draftLost, []string{fromSteps}},
	{"draft_differs", draftDiffers, []string{fromSteps}},
	{"control_disabled", controlDisabled, []string{fromTree}},
	{"action_without_effect", actionWithoutEffect, []string{fromSteps, fromTree}},
	{"too_slow", tooSlow, []string{fromSteps}},
}

// Likely is the likely cause.
func (e *Evidence) Likely() Cause {
	for _, r := range rules {
		if text := r.says(e); text != "" {
			c := Cause{Name: r.name, Sentence: text, From: []string{}}
			for _, kind := range r.from {
				if file, ok := e.files[kind]; ok {
					c.From = append(c.From, file)
				}
			}
			return c
		}
	}
	return Cause{Name: "unknown", Sentence: "Nothing that was kept tells why; " + e.look(), From: []string{}}
}

// look says where a person may look.
func (e *Evidence) look() string {
	if _, ok := e.files[fromPicture]; ok {
		return "look at the screenshot and the app's log."
	}
	return "there is no picture either."
}
