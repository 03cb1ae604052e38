package channel

import "fmt"

const (
	leaseMax  = 128
	leasesMax = 1024
)

// fence decides who is the shard's coordinator: the newest lease, with its newest link. A lease that
// another has replaced never comes back, however high it counts.
type fence struct {
	lease      string
	generation uint64
	// start is the number before the first message that the lease may see.
	start    uint64
	replaced map[string]bool
}

// admit lets a request become the coordinator, or says why not. fresh: the lease is new.
func (f *fence) admit(r attachRequest, acked uint64) (fresh bool, err error) {
	switch {
	case r.Protocol != protocol:
		return false, fmt.Errorf("%w: coordinator speaks version %d, this worker %d; rebuild the image", ErrProtocol, r.Protocol, protocol)
	case r.Lease == "" || len(r.Lease) > leaseMax || r.Generation == 0:
		return false, fmt.Errorf("%w: attach without lease or generation", ErrInvalid)
	case f.replaced[r.Lease]:
		return false, ErrStale
	case r.Lease == f.lease && r.Generation <= f.generation:
		return false, fmt.Errorf("%w: link %d comes after link %d", ErrStale, r.Generation, f.generation)
	case r.Lease == f.lease:
		f.generation = r.Generation
		return false, nil
	case len(f.replaced) >= leasesMax:
		return false, fmt.Errorf("%w: too many coordinators", ErrInvalid)
	}
	if f.replaced == nil {
		f.replaced = map[string]bool{}
	}
	if f.lease != "" {
		f.replaced[f.lease] = true
	}
	f.lease, f.generation, f.start = r.Lease, r.Generation, acked
	return true, nil
}
