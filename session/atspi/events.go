package atspi

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/godbus/dbus/v5"
)

// The interfaces whose signals are events.
const (
	eventObject = "org.a11y.atspi.Event.Object"
	eventWindow = "org.a11y.atspi.Event.Window"
)

// Event is what an app reports of one of its objects.
type Event struct {
	Source           Ref
	Class            string // such as "Object.TextChanged"
	Kind             string // such as "insert", or the state's name
	Detail1, Detail2 int32  // by Class: 1 for a state that came into force, 0 for one that went
}

// Listener keeps the events of one app until they are read, up to maxEvents of them.
type Listener struct {
	bus    *Bus
	sender string
	queue  chan Event
	lost   atomic.Bool
}

// Listen starts to keep events of the app with a unique name on the bus; "" is everybody's. The caller
// closes the Listener.
func (b *Bus) Listen(sender string) *Listener {
	l := &Listener{bus: b, sender: sender, queue: make(chan Event, maxEvents)}
	b.events.add(l)
	return l
}

// Close ends the listening.
func (l *Listener) Close() { l.bus.events.remove(l) }

// Next waits for the next event. After more events than are kept it fails with ErrEventBudget, once
// those that were kept have been read; the Listener then goes on with what comes next.
func (l *Listener) Next(ctx context.Context) (Event, error) {
	select {
	case e := <-l.queue:
		return e, nil
	default:
	}
	if l.lost.Swap(false) {
		return Event{}, fail(ErrEventBudget, "more than %d events were waiting", maxEvents)
	}
	select {
	case e := <-l.queue:
		return e, nil
	case <-l.bus.conn.Context().Done():
		return Event{}, errBusEnded()
	case <-ctx.Done():
		return Event{}, late(ctx, "an event")
	}
}

// drain forgets what was kept: who looks at the state itself only needs to know that it may be another.
func (l *Listener) drain() {
	for range maxEvents {
		select {
		case <-l.queue:
		default:
			l.lost.Store(false)
			return
		}
	}
}

func (l *Listener) take(e Event) {
	select {
	case l.queue <- e:
	default:
		l.lost.Store(true)
	}
}

// hub hands signals to listeners. It never waits for one, since the connection would wait with it.
type hub struct {
	mu        sync.Mutex
	listeners map[*Listener]struct{}
}

func (h *hub) add(l *Listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners == nil {
		h.listeners = map[*Listener]struct{}{}
	}
	h.listeners[l] = struct{}{}
}

func (h *hub) remove(l *Listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
}

// DeliverSignal implements dbus.SignalHandler.
func (h *hub) DeliverSignal(iface, name string, s *dbus.Signal) {
	if iface != eventObject && iface != eventWindow {
		return
	}
	e := Event{
		Source: Ref{s.Sender, s.Path},
		Class:  strings.TrimPrefix(iface, "org.a11y.atspi.Event.") + "." + name,
	}
	if len(s.Body) < 3 || dbus.Store(s.Body[:3], &e.Kind, &e.Detail1, &e.Detail2) != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if l.sender == "" || l.sender == s.Sender {
			l.take(e)
		}
	}
}
