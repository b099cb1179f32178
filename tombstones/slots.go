package tombstones

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones/ledger"
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

// decide says what is missing in a slot.
type decide func(id string, s *events.Slot) []events.Event

// changeSlots decides on slots as the log has them and appends what was decided,
// until nothing is left to decide. It calls changed with each slot as it is then
// and the position of the last commit, 0 if there was nothing to do.
func (e *Eraser) changeSlots(
	ctx context.Context, j *job, ids []string, decide decide, changed func(id string, last uint64, s *events.Slot),
) error {
	for chunk := range slices.Chunk(ids, slotBatch) {
		slots := make([]events.Slot, len(chunk))
		positions, err := e.changeTogether(ctx, j, chunk, slots, decide)
		if err != nil {
			return err
		}
		for i, id := range chunk {
			last, err := e.changeSlot(ctx, j, id, &slots[i], decide)
			if err != nil {
				return err
			}
			changed(id, max(positions[i], last), &slots[i])
		}
	}
	return nil
}

const (
	// slotBatch is how many slots are changed at once.
	slotBatch = 100
	// maxTogether is how many events of one slot go with those of others.
	maxTogether = 16
)

// changeTogether reads slots and appends what is decided on them in one atomic
// batch, as far as that is possible: what it leaves is for changeSlot. It returns
// the position of each slot's commit, 0 if it got none.
func (e *Eraser) changeTogether(
	ctx context.Context, j *job, ids []string, slots []events.Slot, decide decide,
) ([]uint64, error) {
	positions := make([]uint64, len(ids))
	if len(ids) < 2 {
		return positions, nil
	}
	var batch []events.Pending
	var of []int
	for i, id := range ids {
		if err := e.readSlot(ctx, j, id, &slots[i]); err != nil {
			return nil, err
		}
		list := decide(id, &slots[i])
		if len(list) == 0 || len(list) > maxTogether {
			continue
		}
		agg, at := events.Aggregate{Tenant: j.token, Kind: events.KindFact, ID: id}, slots[i].Position
		batch = append(batch, events.Pending{Commit: e.commit(j, agg, at, list), Expect: events.Expect(at)})
		of = append(of, i)
	}
	if len(batch) < 2 {
		return positions, nil
	}
	acks, err := e.log.AppendBatch(ctx, batch)
	if errors.Is(err, events.ErrConflict) {
		return positions, nil
	}
	if err != nil {
		return nil, fmt.Errorf("change slots: %w", err)
	}
	for n, i := range of {
		positions[i] = acks[n].Position
	}
	return positions, nil
}

// readSlot reads on where the slot is.
func (e *Eraser) readSlot(ctx context.Context, j *job, id string, slot *events.Slot) error {
	agg := events.Aggregate{Tenant: j.token, Kind: events.KindFact, ID: id}
	for r, err := range e.log.ReadAggregate(ctx, agg, slot.Position) {
		if err != nil {
			return fmt.Errorf("read slot: %w", err)
		}
		slot.Apply(r)
	}
	return nil
}

// changeSlot changes one slot, against whoever else does. It returns the position
// of its own last commit, 0 if there was nothing to do.
func (e *Eraser) changeSlot(ctx context.Context, j *job, id string, slot *events.Slot, decide decide) (uint64, error) {
	agg := events.Aggregate{Tenant: j.token, Kind: events.KindFact, ID: id}
	last, conflicts := uint64(0), 0
	for {
		if err := e.readSlot(ctx, j, id, slot); err != nil {
			return 0, err
		}
		list := decide(id, slot)
		if len(list) == 0 {
			return last, nil
		}
		list = list[:min(len(list), events.MaxEvents)]
		ack, err := e.log.Append(ctx, e.commit(j, agg, slot.Position, list), events.Expect(slot.Position))
		switch {
		case err == nil:
			last = ack.Position
		case errors.Is(err, events.ErrConflict) && conflicts < maxTries:
			conflicts++
		default:
			return 0, fmt.Errorf("change slot: %w", err)
		}
	}
}

// buryFacts forgets facts, together with what [goingWith] them, and returns all
// tombstones of the erasure in their slots. Facts that are in no slot, because the
// command that would have made them never got so far, have nothing to forget; if
// all are, the error is ErrNotFound.
func (e *Eraser) buryFacts(ctx context.Context, j *job, list []*target) (graves []ledger.Tombstone, err error) {
	found := 0
	var ids []string
	groups := make(map[string][]*target)
	for _, t := range list {
		if t.position != 0 {
			found++
			continue
		}
		if groups[t.Aggregate] == nil {
			ids = append(ids, t.Aggregate)
		}
		groups[t.Aggregate] = append(groups[t.Aggregate], t)
	}
	missing := func(id string, s *events.Slot) []events.Event { return buryIn(s, groups[id], j.erasure) }
	err = e.changeSlots(ctx, j, ids, missing, func(id string, _ uint64, slot *events.Slot) {
		for _, t := range groups[id] {
			f := slot.Find(t.ID)
			if f == nil {
				t.erasure = j.erasure
				continue
			}
			t.erasure, t.position = f.Erasure, f.ChangedAt
			found++
		}
		graves = append(graves, buriedBy(j.token, id, slot, j.erasure)...)
	})
	if err != nil {
		return nil, err
	}
	if len(list) > 0 && found == 0 {
		return nil, events.ErrNotFound
	}
	return graves, nil
}

// buryIn are the tombstones that are missing: those of a group, and of all that
// [goingWith] it. What is furthest from the group goes first, so that whoever goes
// on from some of them still finds the way to the others.
func buryIn(s *events.Slot, group []*target, erasure string) []events.Event {
	var out []events.Event
	for _, f := range slices.Backward(goingWith(s, group)) {
		if f.Status != events.StatusDeleted {
			out = append(out, events.FactForgotten{Fact: f.Fact, Subject: f.Subject, Erasure: erasure})
		}
	}
	return out
}

// goingWith are the facts of a group that are in the slot and, behind those that led
// to them, all that says the same in other words: candidates of equal value that were
// merged into them, what a reviewer made of them, and what a reviewer rejected in
// favour of them. What a reviewer has taken up again since stands for itself.
func goingWith(s *events.Slot, group []*target) []*events.SlotFact {
	var list []*events.SlotFact
	found := make(map[string]bool)
	add := func(f *events.SlotFact) {
		if f != nil && !found[f.Fact] {
			found[f.Fact] = true
			list = append(list, f)
		}
	}
	for _, t := range group {
		add(s.Find(t.ID))
	}
	for i := 0; i < len(list); i++ { //nolint:intrange // It grows on the way.
		from := list[i]
		if before := s.Find(from.Edits); before != nil && before.Status == events.StatusRejected {
			add(before)
		}
		for _, f := range s.Facts {
			if f.Edits == from.Fact || f.Status == events.StatusMerged && f.Decision.Into == from.Fact {
				add(f)
			}
		}
	}
	return list
}

// buriedBy are the tombstones that the erasure has put on facts of a slot.
func buriedBy(tenant, id string, s *events.Slot, erasure string) []ledger.Tombstone {
	var list []ledger.Tombstone
	for _, f := range s.Facts {
		if f.Status == events.StatusDeleted && f.Erasure == erasure {
			list = append(list, ledger.Tombstone{
				Tenant: tenant, Kind: events.KindFact, Aggregate: id, Record: f.Fact, Subject: f.Subject,
				Erasure: erasure, Position: f.ChangedAt,
			})
		}
	}
	return list
}

// cascade takes what was forgotten from the facts that were derived from it. It
// returns the position of its last commit and the tombstones of facts that had
// nothing else. The views say where to look; what to do is decided on the log.
func (e *Eraser) cascade(ctx context.Context, j *job, erasure string, gone *forgotten) (uint64, []ledger.Tombstone, error) {
	slots, err := e.derivedSlots(ctx, j.token, gone)
	if err != nil {
		return 0, nil, err
	}
	var last uint64
	var graves []ledger.Tombstone
	// A fact about a forgotten subject went with its subject.
	of := func(f *events.SlotFact) bool { return !gone.subjects[f.Subject] }
	lost := func(_ string, s *events.Slot) []events.Event {
		return s.Losses(of, func(src events.SourceRef) (string, bool) { return erasure, gone.has(src) })
	}
	err = e.changeSlots(ctx, j, slots, lost, func(id string, at uint64, slot *events.Slot) {
		last = max(last, at)
		graves = append(graves, buriedBy(j.token, id, slot, erasure)...)
	})
	if err != nil {
		return 0, nil, err
	}
	return last, graves, nil
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
