// Package clocktest sets the clock for tests, as an administrator would set a machine's.
package clocktest

import (
	"time"
	"unsafe"
)

// moment is time.Time as package time has it. With the top bit of wall set, the 33 bits below are seconds, and
// ext is the reading of the clock that nobody sets.
type moment struct {
	wall uint64
	ext  int64
	loc  *time.Location
}

// secondShift is where the seconds begin in wall.
const secondShift = 30

// Set gives t, which time.Now gave, as it would be had the wall clock been set by whole seconds before.
func Set(t time.Time, by time.Duration) time.Time {
	was := t
	m := (*moment)(unsafe.Pointer(&t))
	m.wall += uint64(by/time.Second) << secondShift
	if t.Sub(was) != 0 || t.Round(0).Sub(was.Round(0)) != by {
		panic("clocktest: package time has another form of times now")
	}
	return t
}
