package driver

import (
	"context"

	"github.com/berth-run/berth/session/atspi"
)

// dismiss closes a model's announcement that came after Prepare; covered tells that it's there. Its
// control is acted on once.
func (d *draft) dismiss(ctx context.Context, t *atspi.Tree) (covered bool, err error) {
	s := announcement(d.controls)
	if !s.isOn(t) {
		return false, nil
	}
	f := s.read(t)
	d.code, d.detail = f.code, f.detail
	switch {
	case f.node == nil:
		return true, nil
	case f.node.Ref == d.dismissed:
		d.code, d.detail = s.unproved, "the announcement doesn't go"
		return true, nil
	}
	asked, err := d.press(ctx, s.name, f.node, s.act)
	if !asked && changed(err) {
		return true, nil
	}
	d.dismissed = f.node.Ref
	return true, err
}
