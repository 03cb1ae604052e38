package session

import (
	"context"
	"slices"
)

// PID is the process of a service's program.
func (s *Session) PID(service string) int { return s.parts[service].proc.PID() }

// Names are the table's services.
func Names() []string {
	var names []string
	for _, sv := range desktop {
		names = append(names, sv.name)
	}
	return names
}

// Needs are the table's edges.
func Needs(name string) []string {
	return desktop[slices.IndexFunc(desktop, func(sv service) bool { return sv.name == name })].needs
}

// StartWith starts the table with another program for one of its services.
func StartWith(ctx context.Context, cfg Config, service, path string) (*Session, error) {
	table := slices.Clone(desktop)
	for i := range table {
		if table[i].name == service {
			table[i].paths = []string{path}
		}
	}
	return start(ctx, cfg.withDefaults(), table)
}
