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
// along, because they say the same in other words or have no other source, and
// those that would lose a source and stay. It is what the cascade decides, but for
// what comes into the log in between.
func (e *Eraser) cascaded(ctx context.Context, j *job, targets []target) (n, weakened int, err error) {
	gone, counted := newForgotten(), make(map[string]bool)
	for i := range targets {
		if targets[i].Kind == events.KindEpisode {
			gone.episodes[targets[i].ID] = true
		}
		counted[targets[i].ID] = true
	}
	if n, err = e.accompanying(ctx, j, targets, counted); err != nil {
		return 0, 0, err
	}
	err = e.snapshot(ctx, func(s Snapshot) error {
		for id := range gone.episodes {
			if ctx.Err() != nil {
				return fmt.Errorf("count what is derived: %w", context.Cause(ctx))
			}
			list, err := s.Derived(j.token, id)
			if err != nil {
				return fmt.Errorf("count what is derived: %w", err)
			}
			for _, d := range list {
				if counted[d.ID] {
					continue
				}
				counted[d.ID] = true
				if gone.allOf(d.Sources) {
					n++
				} else {
					weakened++
				}
			}
		}
		return nil
	})
	return n, weakened, err
}

// accompanying counts what goes with the facts among the targets and is in none of
// them, and marks it as counted.
func (e *Eraser) accompanying(ctx context.Context, j *job, targets []target, counted map[string]bool) (int, error) {
	groups := make(map[string][]*target)
	for i := range targets {
		if t := &targets[i]; t.Kind == events.KindFact && t.position == 0 && t.Aggregate != "" {
			groups[t.Aggregate] = append(groups[t.Aggregate], t)
		}
	}
	n := 0
	for id, group := range groups {
		var slot events.Slot
		if err := e.readSlot(ctx, j, id, &slot); err != nil {
			return 0, fmt.Errorf("count what goes with facts: %w", err)
		}
		for _, f := range goingWith(&slot, group) {
			if f.Status == events.StatusDeleted || counted[f.Fact] {
				continue
			}
			counted[f.Fact] = true
			n++
		}
	}
	return n, nil
}

// kindsOf counts targets by their kind.
func kindsOf(targets []target) *Kinds {
	k := &Kinds{}
	for i := range targets {
		if targets[i].Kind == events.KindFact {
			k.Facts++
		} else {
			k.Episodes++
		}
	}
	return k
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
