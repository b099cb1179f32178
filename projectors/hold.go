package projectors

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/events"
)

func holdsOf(tenant, sid string) key { return newKey(sortHold).part(tenant).part(sid) }

// hold writes a legal hold unless it is there. The row is read back, so the batch before is applied and this one settles.
func (e *engine) hold(ctx context.Context, r *events.Recorded, name string) error {
	k := holdsOf(r.Aggregate.Tenant, r.Aggregate.ID).part(name)
	old, err := e.storedHold(ctx, k)
	if err != nil || old != (digest{}) {
		return err
	}
	e.state.holds++
	var enc encoder
	enc.uint(r.Position)
	enc.time(r.RecordedAt)
	_, err = e.put(k, enc.b, digest{})
	return err
}

// lift removes a legal hold.
func (e *engine) lift(ctx context.Context, r *events.Recorded, name string) error {
	k := holdsOf(r.Aggregate.Tenant, r.Aggregate.ID).part(name)
	old, err := e.storedHold(ctx, k)
	if err != nil || old == (digest{}) {
		return err
	}
	e.state.holds--
	return e.remove(k, old)
}

// storedHold is the digest of a hold's row, zero if there is none.
func (e *engine) storedHold(ctx context.Context, k key) (old digest, err error) {
	if err := e.commit(ctx); err != nil {
		return digest{}, err
	}
	e.settle = true
	_, err = get(e.db, k, func(value []byte) error {
		old = rowDigest(k, value)
		return nil
	})
	return old, err
}

// subjectID names a subject within all tenants.
type subjectID struct{ tenant, sid string }

// maxHeldSet is the number of holds up to which a snapshot keeps them in memory.
const maxHeldSet = 1_000

// Held reports whether the subject is under a legal hold in any view that knows of holds. If that cannot be read it is.
// While there is no hold at all, or few, it costs next to nothing.
func (s *Snapshot) Held(tenant, sid string) bool {
	if s.holds == 0 {
		return false
	}
	if set := s.heldSet(); set != nil {
		return set[subjectID{tenant, sid}]
	}
	for _, r := range []pebble.Reader{s.facts, s.memories} {
		held := false
		err := scan(r, holdsOf(tenant, sid), nil, func([]byte, []byte) (bool, error) {
			held = true
			return false, nil
		})
		if held || err != nil {
			return true
		}
	}
	return false
}

// loadHolds returns the subjects under a hold, nil if there are too many or if they cannot be read.
func (s *Snapshot) loadHolds() map[subjectID]bool {
	if s.holds > maxHeldSet {
		return nil
	}
	set := make(map[subjectID]bool)
	for _, r := range []pebble.Reader{s.facts, s.memories} {
		err := scan(r, []byte{sortHold}, nil, func(k, _ []byte) (bool, error) {
			tenant, rest, ok := cutPart(k[1:])
			if !ok {
				return false, errRow(sortHold)
			}
			sid, _, ok := cutPart(rest)
			if !ok {
				return false, errRow(sortHold)
			}
			set[subjectID{tenant, sid}] = true
			return true, nil
		})
		if err != nil {
			return nil
		}
	}
	return set
}
