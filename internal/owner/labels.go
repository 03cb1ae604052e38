package owner

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Labels on every shard. They are an interface: users filter by them.
const (
	LabelRun     = "run.berth.run"
	LabelShard   = "run.berth.shard"
	LabelCreated = "run.berth.created" // RFC 3339, UTC
	// LabelKeep is there only on a shard that is never swept.
	LabelKeep = "run.berth.keep"

	LabelHost         = "run.berth.owner.host"
	LabelBoot         = "run.berth.owner.boot"
	LabelPIDNamespace = "run.berth.owner.pidns"
	LabelPID          = "run.berth.owner.pid"
	LabelStart        = "run.berth.owner.start"
)

// NamePrefix begins each shard's name: it's what is seen of a shard where no labels are.
const NamePrefix = "berth-"

// ErrLabels: labels that aren't a whole set of ours.
var ErrLabels = errors.New("not a shard's labels")

// Shard is what a shard's labels say.
type Shard struct {
	Run     string
	Index   int
	Created time.Time
	Keep    bool
	Owner   Identity
}

// Labels gives the labels to create a shard with.
func (s Shard) Labels() map[string]string {
	labels := map[string]string{
		LabelRun:          s.Run,
		LabelShard:        strconv.Itoa(s.Index),
		LabelCreated:      s.Created.UTC().Format(time.RFC3339),
		LabelHost:         s.Owner.Host,
		LabelBoot:         s.Owner.Boot,
		LabelPIDNamespace: s.Owner.PIDNamespace,
		LabelPID:          strconv.Itoa(s.Owner.PID),
		LabelStart:        s.Owner.Start,
	}
	if s.Keep {
		labels[LabelKeep] = "true"
	}
	return labels
}

// Parse reads a shard's labels; ErrLabels. Any value of LabelKeep keeps.
func Parse(labels map[string]string) (Shard, error) {
	index, err := strconv.Atoi(labels[LabelShard])
	if err != nil {
		return Shard{}, fmt.Errorf("%w: %s is %q", ErrLabels, LabelShard, labels[LabelShard])
	}
	pid, err := strconv.Atoi(labels[LabelPID])
	if err != nil || pid <= 0 {
		return Shard{}, fmt.Errorf("%w: %s is %q", ErrLabels, LabelPID, labels[LabelPID])
	}
	created, err := time.Parse(time.RFC3339, labels[LabelCreated])
	if err != nil {
		return Shard{}, fmt.Errorf("%w: %s is %q", ErrLabels, LabelCreated, labels[LabelCreated])
	}
	_, keep := labels[LabelKeep]
	return Shard{
		Run: labels[LabelRun], Index: index, Created: created, Keep: keep,
		Owner: Identity{
			Host: labels[LabelHost], Boot: labels[LabelBoot], PIDNamespace: labels[LabelPIDNamespace],
			PID: pid, Start: labels[LabelStart],
		},
	}, nil
}
