package driver

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/atspi"
)

// Inspection is what a new version of an app was seen to show of the table.
type Inspection struct {
	// App is the row of apps.go that was found, "" when none was, and Versions those that it was seen on.
	App      string   `json:"app,omitempty"`
	Versions []string `json:"tableVersions,omitempty"`
	// Screens are the table's, in its order.
	Screens []ScreenSeen `json:"screens"`
	// Ready: it came to the composer on both surfaces, and there again after an empty draft.
	Ready bool `json:"ready"`
	// Error says why not, with Strangers, what was on screen then that isn't in the table.
	Error      string    `json:"error,omitempty"`
	Code       code.Code `json:"code,omitempty"`
	Strangers  []string  `json:"strangers,omitempty"`
	DurationMs int64     `json:"durationMs"`
}

// ScreenSeen is a screen of the table.
type ScreenSeen struct {
	Screen string      `json:"screen"`
	Seen   bool        `json:"seen"`
	Labels []LabelSeen `json:"labels"`
}

// LabelSeen is a control of the table. It's lost when its screen was there and it wasn't; then Instead
// is what was taken for it, "" for nothing.
type LabelSeen struct {
	Label   string `json:"label"`
	Role    string `json:"role"`
	Seen    bool   `json:"seen"`
	Lost    bool   `json:"lost"`
	Instead string `json:"instead,omitempty"`
}

// Lost are the labels that weren't found on the screens that they belong to.
func (i Inspection) Lost() []LabelSeen {
	var lost []LabelSeen
	for _, s := range i.Screens {
		for _, l := range s.Labels {
			if l.Lost {
				lost = append(lost, l)
			}
		}
	}
	return lost
}

// Inspect takes an app that was just started through all that Prepare would, on both surfaces, to see
// what of the table is still true. Where a label isn't there, it goes on by what is most like it, which
// Prepare never does: nothing is sent, and nothing of the app is of use afterwards. What it found is told
// also when it came to no end.
func (d *Driver) Inspect(ctx context.Context, s Surface) Inspection {
	began := time.Now()
	in := &inspection{
		run: &run{Driver: d, receipt: Receipt{Steps: []Action{}}, phase: WaitingForInitialUI},
		met: map[string]bool{}, instead: map[string]string{},
	}
	err := valid(s)
	if err == nil {
		err = in.inspect(ctx, s)
	}
	told := in.tell(err)
	told.DurationMs = time.Since(began).Milliseconds()
	return told
}

// inspection is one Inspect.
type inspection struct {
	*run
	table   *Controls         // as it is
	met     map[string]bool   // by key of a part
	instead map[string]string // by key of a part that was lost
}

func (in *inspection) inspect(ctx context.Context, s Surface) error {
	first := time.Now().Add(in.limits.FirstUI)
	if err := in.meet(ctx, first); err != nil {
		return err
	}
	in.table = in.controls
	in.controls = in.table.clone()
	in.looked = in.note
	other := Codex
	if s == Codex {
		other = Work
	}
	for _, to := range []Surface{other, s} {
		if err := in.to(ctx, to, first); err != nil {
			return err
		}
		first = time.Time{}
	}
	if err := in.open(ctx, ""); err != nil {
		return err
	}
	if err := in.lookOn(ctx); err != nil {
		return err
	}
	return in.to(ctx, s, time.Time{})
}

// note takes note of what a tree has of the table.
func (in *inspection) note(t *atspi.Tree) {
	for _, p := range in.table.known(t) {
		in.met[p.key] = true
	}
}

// to walks to the composer on a surface, as Prepare does, and where that doesn't get on with what the
// table has not.
func (in *inspection) to(ctx context.Context, s Surface, first time.Time) error {
	in.wanted = s
	screens := func() []screen { return append(firstRun(in.controls), modeSwitch(in.controls, s)...) }
	w := newWalk(in.run, screens(), in.atComposer, first)
	for !w.now.reached {
		err := w.progress(ctx)
		if err == nil {
			continue
		}
		if ctx.Err() != nil || !in.adapt() {
			return err
		}
		w.screens, w.first = screens(), time.Time{}
	}
	return nil
}

// adapt takes for what the present screen lacks what is most like it, and tells whether there was
// anything.
func (in *inspection) adapt() bool {
	if in.seen == nil {
		return false
	}
	reading := in.controls.read(in.seen)
	adapted := false
	for _, p := range reading.Lacking {
		if _, lost := in.instead[p.key]; lost {
			continue
		}
		label := likest(p.Control, reading.Strangers, slices.Collect(maps.Values(in.instead)))
		if label == "" {
			in.lose(p)
			continue
		}
		in.replace(p, label)
		if adapted = true; isSwitch(p) {
			return true // the other one isn't to be seen now
		}
	}
	return adapted
}

// lose notes that nothing is like a part; of two switches only one is to be seen.
func (in *inspection) lose(p Part) {
	if !isSwitch(p) || p.key == switchKey(in.wanted) {
		in.instead[p.key] = ""
	}
}

func (in *inspection) replace(p Part, label string) {
	in.instead[p.key] = label
	c := p.Control
	c.Label, c.Begins = label, false
	in.controls.set(p.key, c)
}

// tell puts together what was found.
func (in *inspection) tell(err error) Inspection {
	i := Inspection{App: in.row.Name, Versions: in.row.Versions, Screens: []ScreenSeen{}, Ready: err == nil}
	if err != nil {
		i.Code, i.Error = code.Of(err), code.Detail(err)
	}
	if in.table == nil {
		return i
	}
	for _, layer := range layers {
		i.Screens = append(i.Screens, in.screenSeen(layer))
	}
	if err != nil && in.seen != nil {
		for _, n := range in.controls.read(in.seen).Strangers {
			i.Strangers = append(i.Strangers, n.Role.String()+" "+n.Name)
		}
	}
	return i
}

func (in *inspection) screenSeen(layer string) ScreenSeen {
	s := ScreenSeen{Screen: layer}
	for _, p := range in.table.parts() {
		if p.Screen != layer {
			continue
		}
		instead, lost := in.instead[p.key]
		s.Labels = append(s.Labels, LabelSeen{
			Label: p.Name(), Role: p.Roles[0].String(), Seen: in.met[p.key], Lost: lost && !in.met[p.key], Instead: instead,
		})
		s.Seen = s.Seen || in.met[p.key] || lost
	}
	return s
}
