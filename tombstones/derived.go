package tombstones

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
)

// Derivation is a fact or a candidate with what it was taken from.
type Derivation struct {
	ID      string
	Sources []events.SourceRef
}

// cascaded counts the facts and candidates that a forget of the targets would take
// along because they have no other source, as the views have them. It is what the
// cascade decides, but for what comes into the log in between.
func (e *Eraser) cascaded(ctx context.Context, j *job, targets []target) (int, error) {
	gone, counted := newForgotten(), make(map[string]bool)
	for i := range targets {
		if targets[i].Kind == events.KindEpisode {
			gone.episodes[targets[i].ID] = true
		}
		counted[targets[i].ID] = true
	}
	n := 0
	err := e.snapshot(ctx, func(s Snapshot) error {
		for id := range gone.episodes {
			if ctx.Err() != nil {
				return fmt.Errorf("count what is derived: %w", context.Cause(ctx))
			}
			list, err := s.Derived(j.token, id)
			if err != nil {
				return fmt.Errorf("count what is derived: %w", err)
			}
			for _, d := range list {
				if !counted[d.ID] && gone.allOf(d.Sources) {
					counted[d.ID] = true
					n++
				}
			}
		}
		return nil
	})
	return n, err
}

// allOf reports whether no living source would be left. Sources that never were,
// which have no subject, hold up no fact.
func (f *forgotten) allOf(sources []events.SourceRef) bool {
	for _, src := range sources {
		if src.Subject != "" && !f.has(src) {
			return false
		}
	}
	return true
}
