package tombstones

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
)

// forgotten is what has a tombstone, as far as a cascade is concerned.
type forgotten struct {
	episodes, subjects map[string]bool
}

func newForgotten() *forgotten {
	return &forgotten{episodes: make(map[string]bool), subjects: make(map[string]bool)}
}

func (f *forgotten) has(src events.SourceRef) bool {
	return f.episodes[src.Episode] || f.subjects[src.Subject]
}

// changeSlot decides on a slot as the log has it and appends what was decided,
// again and again until nothing is left to decide. It returns the position of
// its last commit, 0 if there was nothing to do, and the slot as it is then.
func (e *Eraser) changeSlot(
	ctx context.Context, j *job, id string, decide func(*events.Slot) []events.Event,
) (uint64, *events.Slot, error) {
	agg := events.Aggregate{Tenant: j.token, Kind: events.KindFact, ID: id}
	slot, last, conflicts := &events.Slot{}, uint64(0), 0
	for {
		for r, err := range e.log.ReadAggregate(ctx, agg, slot.Position) {
			if err != nil {
				return 0, nil, fmt.Errorf("read slot: %w", err)
			}
			slot.Apply(r)
		}
		list := decide(slot)
		if len(list) == 0 {
			return last, slot, nil
		}
		list = list[:min(len(list), events.MaxEvents)]
		ack, err := e.log.Append(ctx, e.commit(j, agg, slot.Position, list), events.Expect(slot.Position))
		switch {
		case err == nil:
			last = ack.Position
		case errors.Is(err, events.ErrConflict) && conflicts < maxTries:
			conflicts++
		default:
			return 0, nil, fmt.Errorf("change slot: %w", err)
		}
	}
}

// buryFacts forgets facts, slot by slot, together with the candidates of equal
// value that were merged into them, whose ids it returns. Facts that are in no
// slot, because the command that would have made them never got so far, have
// nothing to forget; if all are, the error is ErrNotFound.
func (e *Eraser) buryFacts(ctx context.Context, j *job, list []*target) (merged []string, err error) {
	rest := slices.DeleteFunc(slices.Clone(list), func(t *target) bool { return t.position != 0 })
	found := len(list) - len(rest)
	for len(rest) > 0 {
		n := 1
		for n < len(rest) && rest[n].Aggregate == rest[0].Aggregate {
			n++
		}
		group := rest[:n]
		rest = rest[n:]
		_, slot, err := e.changeSlot(ctx, j, group[0].Aggregate, func(s *events.Slot) []events.Event {
			return buryIn(s, group, j.erasure)
		})
		if err != nil {
			return nil, err
		}
		for _, t := range group {
			f := slot.Find(t.ID)
			if f == nil {
				t.erasure = j.erasure
				continue
			}
			t.erasure, t.position = f.Erasure, f.ChangedAt
			found++
		}
		merged = append(merged, buriedBy(slot, j.erasure)...)
	}
	if len(list) > 0 && found == 0 {
		return nil, events.ErrNotFound
	}
	return merged, nil
}

// buryIn are the tombstones that are missing.
func buryIn(s *events.Slot, group []*target, erasure string) []events.Event {
	var out []events.Event
	for _, f := range s.Facts {
		asked := slices.ContainsFunc(group, func(t *target) bool {
			return t.ID == f.Fact || (f.Status == events.StatusMerged && f.Decision.Into == t.ID)
		})
		if asked && f.Status != events.StatusDeleted {
			out = append(out, events.FactForgotten{Fact: f.Fact, Subject: f.Subject, Erasure: erasure})
		}
	}
	return out
}

// buriedBy are the ids of facts that the erasure has forgotten.
func buriedBy(s *events.Slot, erasure string) []string {
	var ids []string
	for _, f := range s.Facts {
		if f.Status == events.StatusDeleted && f.Erasure == erasure {
			ids = append(ids, f.Fact)
		}
	}
	return ids
}

// cascade takes what was forgotten from the facts that were derived from it. It
// returns the position of its last commit and the ids of facts that had nothing
// else. The views say where to look; what to do is decided on the log.
func (e *Eraser) cascade(ctx context.Context, j *job, erasure string, gone *forgotten) (uint64, []string, error) {
	slots, err := e.derivedSlots(ctx, j.token, gone)
	if err != nil {
		return 0, nil, err
	}
	var last uint64
	var dead []string
	for _, id := range slots {
		at, slot, err := e.changeSlot(ctx, j, id, func(s *events.Slot) []events.Event {
			return bereave(s, gone, erasure)
		})
		if err != nil {
			return 0, nil, err
		}
		last = max(last, at)
		dead = append(dead, buriedBy(slot, erasure)...)
	}
	return last, dead, nil
}

func (e *Eraser) derivedSlots(ctx context.Context, token string, gone *forgotten) ([]string, error) {
	var slots []string
	err := e.snapshot(ctx, func(s Snapshot) error {
		for id := range gone.episodes {
			found, err := s.Slots(token, id, "")
			if err != nil {
				return fmt.Errorf("find what is derived: %w", err)
			}
			slots = append(slots, found...)
		}
		for sid := range gone.subjects {
			found, err := s.Slots(token, "", sid)
			if err != nil {
				return fmt.Errorf("find what is derived: %w", err)
			}
			slots = append(slots, found...)
		}
		return nil
	})
	slices.Sort(slots)
	return slices.Compact(slots), err
}

// bereave decides on every fact of a slot that lost a source. A fact about a
// forgotten subject went with its subject.
func bereave(s *events.Slot, gone *forgotten, erasure string) []events.Event {
	var out []events.Event
	for _, f := range s.Facts {
		if f.Status == events.StatusDeleted || gone.subjects[f.Subject] {
			continue
		}
		var lost []events.Event
		left := false
		for _, src := range f.Sources {
			if gone.has(src) {
				lost = append(lost, events.FactSourceLost{Fact: f.Fact, Source: src.Episode, Erasure: erasure})
			} else if src.Subject != "" { // one without a subject never was
				left = true
			}
		}
		switch {
		case len(lost) == 0:
		case left:
			out = append(out, lost...)
		default:
			out = append(out, events.FactForgotten{Fact: f.Fact, Subject: f.Subject, Erasure: erasure})
		}
	}
	return out
}
