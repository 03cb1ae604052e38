package app

import "github.com/berth-run/berth/testdata/standin/scenario"

// view is what the page shows. One with another Seq is another screen.
type view struct {
	Seq     int              `json:"seq"`
	Screen  screen           `json:"screen"`
	Title   string           `json:"title,omitempty"`
	Surface scenario.Surface `json:"surface"`
	Missing []string         `json:"missing,omitempty"`
	Doubled []string         `json:"doubled,omitempty"`
	Dead    []string         `json:"dead,omitempty"`
	// Labels are other than those of labels.json, by control.
	Labels map[string]string `json:"labels,omitempty"`
	// Of the profession page: Continue can be clicked, and the choice doesn't show.
	Ready bool `json:"ready,omitempty"`
	Stale bool `json:"stale,omitempty"`
	// Of the main screen.
	Draft string `json:"draft,omitempty"`
	Code  bool   `json:"code,omitempty"`
	// SendMS is how long Send stays disabled.
	SendMS int `json:"sendMs,omitempty"`
	// Of a thread.
	Messages []said `json:"messages,omitempty"`

	crash scenario.Crash            // once it's shown
	fatal map[string]scenario.Crash // by the control that is acted on
}

// screen is one of the page's.
type screen string

const (
	splash screen = "splash"
	main   screen = "main"
	thread screen = "thread"
	broken screen = "error"

	announcement screen = screen(scenario.Announcement)
)

// said is one message of a thread.
type said struct {
	From string `json:"from"` // you, model, app
	Text string `json:"text"`
}

// event is something that was done on the page.
type event struct {
	Seq int `json:"seq"`
	// Control is the control's name in labels.json, "shown" when the page has drawn a view, "beside" when
	// another window has.
	Control string `json:"control"`
	Pointer bool   `json:"pointer"` // a pointer did it
	Key     bool   `json:"key"`     // Return did it
	Text    string `json:"text"`    // the composer's, with "send"
}
