package image

import (
	"io"
	"sync"
)

// Steps of a build, in an Event.
const (
	StepWait    = "wait"    // another set-up holds the cache
	StepRoot    = "rootfs"  // Debian's root file system, or the user's base image
	StepFetch   = "fetch"   // the app's package
	StepApp     = "app"     // the app's layer
	StepPackage = "package" // the layer of the app's Debian package
	StepOverlay = "overlay" // the user's directory
	StepCheck   = "check"   // the app against its generated config
	StepImport  = "import"  // into the engine
)

// Event is progress of one step. Events come one at a time, though steps run side by side.
type Event struct {
	Step string
	// Detail is one line for people, often "".
	Detail string
	// Bytes were written or sent so far; Total is 0 when it can't be known.
	Bytes, Total int64
	// Cached: nothing had to be done. Done: the step's last event.
	Cached, Done bool
}

// reporter serialises events.
type reporter struct {
	mu sync.Mutex
	f  func(Event)
}

func (r *reporter) emit(e Event) {
	if r == nil || r.f == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.f(e)
}

// eventEvery is how many bytes go by between two events of a copy.
const eventEvery = 8 << 20

// meter counts what is written through it and reports as it goes.
type meter struct {
	w              io.Writer
	report         *reporter
	step           string
	n, total, next int64
}

func (r *reporter) meter(w io.Writer, step string, total int64) *meter {
	return &meter{w: w, report: r, step: step, total: total, next: eventEvery}
}

func (m *meter) Write(b []byte) (int, error) {
	n, err := m.w.Write(b)
	m.n += int64(n)
	if m.n >= m.next {
		m.next = m.n + eventEvery
		m.report.emit(Event{Step: m.step, Bytes: m.n, Total: m.total})
	}
	return n, err
}
