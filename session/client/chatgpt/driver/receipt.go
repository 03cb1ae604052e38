package driver

import (
	"time"

	"github.com/berth-run/berth/internal/code"
)

// Status is how a Prepare or a Submit ended.
type Status string

// The statuses.
const (
	Ready     Status = "ready"
	Submitted Status = "submitted"
	Failed    Status = "failed"
)

// Phase is how far Prepare came.
type Phase string

// The phases.
const (
	WaitingForInitialUI Phase = "waiting-for-initial-ui"
	ProfessionSelected  Phase = "profession-selected"
	ContinueReady       Phase = "continue-ready"
	IntroDismiss        Phase = "intro-dismiss"
	AtSurface           Phase = "surface"
	AtComposer          Phase = "composer"
)

// Step is how far a draft came.
type Step string

// The steps.
const (
	DraftOpen     Step = "draft-open"
	DraftSurface  Step = "draft-surface"
	DraftReadback Step = "draft-readback"
	Send          Step = "send"
)

// Receipt tells of one Prepare or Submit what was done and how it ended (contract §4.4, §4.6). It holds
// nothing that the app shows but labels of package driver's own.
type Receipt struct {
	Status  Status  `json:"status"`
	Surface Surface `json:"surface"`
	// App is the row of apps.go that was found, "" when none was.
	App         string `json:"app,omitempty"`
	ActionCount int    `json:"action_count"`
	DurationMs  int64  `json:"duration_ms"`
	// Sent tells whether Send was activated. If it's false, nothing was submitted; if it's true and
	// Status isn't Submitted, the prompt may have been.
	Sent bool `json:"sent"`
	// Steps are all actions on the app, in their order.
	Steps []Action `json:"steps"`
	// Seen are the screens that the app was seen to show, and the steps of a draft, as they came.
	Seen []Sight `json:"seen,omitempty"`

	// Of a failure only.
	Error      code.Code   `json:"error,omitempty"`
	Phase      Phase       `json:"phase,omitempty"`
	Step       Step        `json:"step,omitempty"`
	DraftState *DraftState `json:"draftState,omitempty"`
}

// Action is one thing that was done to the app.
type Action struct {
	At     time.Time `json:"at"`
	Step   string    `json:"step"`           // a screen of the table, or a Step
	Role   string    `json:"role,omitempty"` // as at-spi2-core 2.58 names it
	Name   string    `json:"name,omitempty"`
	Action string    `json:"action"`          // such as "press"; "pointer" and "open" are a click and a hand-off
	Error  code.Code `json:"error,omitempty"` // it was refused, or no clear answer came
}

// Sight is a screen of the table or of the way to it, or a Step that was begun.
type Sight struct {
	At     time.Time `json:"at"`
	Screen string    `json:"screen"`
	Phase  Phase     `json:"phase,omitempty"`
}

// DraftState is what could be seen when a Prepare or Submit failed.
type DraftState struct {
	ObservedSurface     Surface `json:"observedSurface,omitempty"` // "": none, or several
	ComposerRootCount   int     `json:"composerRootCount"`
	SendControlCount    int     `json:"sendControlCount"`
	TextReadable        bool    `json:"textReadable"`
	TextLength          int     `json:"textLength"` // in characters
	TextSHA256          string  `json:"textSha256,omitempty"`
	EmbeddedObjectCount int     `json:"embeddedObjectCount"`
	NewlineCount        int     `json:"newlineCount"`
	Screen              Screen  `json:"screen"`
}

// Screen is a tree in numbers.
type Screen struct {
	NodeCount          int      `json:"nodeCount"`
	VisibleButtonCount int      `json:"visibleButtonCount"`
	VisibleFrameCount  int      `json:"visibleFrameCount"`
	DialogCount        int      `json:"dialogCount"`
	KnownLabels        []string `json:"knownLabels"`
}
