// Package owner says who a shard belongs to, and takes away what dead owners left. The owner is a
// process of berth's; its identity goes into the shard's labels when the shard is created, so that a
// later run finds what a killed one couldn't remove. It only ever judges by proof: what may have a
// living owner stays, and ends by its own dead man's switch.
package owner

import (
	"errors"
	"fmt"
	"os"
)

// Identity is one process, told apart from every other on all machines that share an engine.
type Identity struct {
	// Host is the same over reboots. It is empty where it can't be relied on: in a container, whose
	// machine id may come with its image, and on a machine without one.
	Host string
	// Boot is one run of one kernel; containers share their host's.
	Boot string
	// PIDNamespace is where PID means something, as the kernel names it. A number is used again only
	// when the namespace it had is gone with all its processes.
	PIDNamespace string
	PID          int
	// Start is the process's start time in a clock that isn't set: a pid is used again, with another.
	Start string
}

// Verdict is what can be said of an owner from here.
type Verdict int

// Unknown is every case that isn't proof: another host, another pid namespace, a fact that is missing.
const (
	Unknown Verdict = iota
	Alive
	Dead
)

func (v Verdict) String() string {
	return [...]string{"unknown", "alive", "dead"}[v]
}

// errGone: there is no such process, or it has ended and waits for its parent.
var errGone = errors.New("no such process")

// observer is a place to judge from: a process, and a way to look at others of its namespace.
type observer struct {
	self Identity
	// start gives a process's Identity.Start; errGone, or another error when it can't be told.
	start func(pid int) (string, error)
}

// Self gives the calling process's identity.
func Self() (Identity, error) {
	o, err := here()
	return o.self, err
}

// Judge tells what can be said of id from the calling process.
func (id Identity) Judge() (Verdict, error) {
	o, err := here()
	if err != nil {
		return Unknown, err
	}
	return o.judge(id), nil
}

func here() (observer, error) {
	self, err := place()
	if err != nil {
		return observer{}, fmt.Errorf("identify this process: %w", err)
	}
	self.PID = os.Getpid()
	if self.Start, err = startTime(self.PID); err != nil {
		return observer{}, fmt.Errorf("identify this process: %w", err)
	}
	return observer{self: self, start: startTime}, nil
}

func (o observer) judge(id Identity) Verdict {
	switch {
	case id.Boot == "" || o.self.Boot == "":
		return Unknown
	case id.Boot != o.self.Boot:
		return o.judgeReboot(id)
	case id.PIDNamespace == "" || id.PIDNamespace != o.self.PIDNamespace || id.PID <= 0 || id.Start == "":
		return Unknown
	}
	start, err := o.start(id.PID)
	switch {
	case errors.Is(err, errGone):
		return Dead
	case err != nil:
		return Unknown
	case start != id.Start:
		return Dead
	}
	return Alive
}

// judgeReboot: nothing that ran before this host was started again is alive.
func (o observer) judgeReboot(id Identity) Verdict {
	if id.Host != "" && id.Host == o.self.Host {
		return Dead
	}
	return Unknown
}
