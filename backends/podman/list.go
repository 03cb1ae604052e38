package podman

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/berth-run/berth/backends"
)

// List implements backends.Backend. Podman is asked for the first key at most and the rest is
// compared here: its filter takes a '*' in a key for a pattern.
func (b *Backend) List(ctx context.Context, labels map[string]string) ([]backends.Listed, error) {
	q := url.Values{"all": {"true"}}
	for k := range labels {
		if !strings.ContainsAny(k, "*?[\\") {
			f, err := json.Marshal(map[string][]string{"label": {k}})
			if err != nil {
				return nil, err
			}
			q.Set("filters", string(f))
			break
		}
	}
	var containers []struct {
		ID      string            `json:"Id"`
		Names   []string          `json:"Names"`
		State   string            `json:"State"`
		Created created           `json:"Created"`
		Labels  map[string]string `json:"Labels"`
	}
	if err := b.api.get(ctx, "/containers/json", q, &containers); err != nil {
		return nil, fmt.Errorf("listing shards: %w", explain(err))
	}
	var list []backends.Listed
	for _, c := range containers {
		l := backends.Listed{ID: c.ID, State: state(c.State), Created: time.Time(c.Created), Labels: c.Labels}
		if len(c.Names) > 0 {
			l.Name = strings.TrimPrefix(c.Names[0], "/")
		}
		if l.Carries(labels) {
			list = append(list, l)
		}
	}
	return list, nil
}

// state maps Podman's many states to the three of backends. One that is stopping has PID 1 still; one
// that is being removed hasn't.
func state(s string) string {
	switch strings.ToLower(s) {
	case "created", "configured", "initialized":
		return backends.StateCreated
	case "running", "paused", "stopping":
		return backends.StateRunning
	}
	return backends.StateExited
}

// created is a time that some versions write as a string and some as seconds.
type created time.Time

func (c *created) UnmarshalJSON(b []byte) error {
	var seconds int64
	if json.Unmarshal(b, &seconds) == nil {
		*c = created(time.Unix(seconds, 0))
		return nil
	}
	return (*time.Time)(c).UnmarshalJSON(b)
}

// Open implements backends.Backend.
func (b *Backend) Open(ctx context.Context, id string) (backends.Shard, error) {
	s := &shard{backend: b, id: id}
	c, err := s.inspect(ctx)
	if err != nil {
		return nil, err
	}
	if c.ID != id { // Podman takes a name, or the start of an id
		return nil, fmt.Errorf("shard %s: %w", id, backends.ErrNotFound)
	}
	return s, nil
}
