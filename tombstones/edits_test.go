package tombstones_test

import (
	"errors"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/query"
)

// slotOf is the slot of what is derived from an episode as the log has it, and where it is.
func (n *node) slotOf(source string) (*events.Slot, events.Aggregate) {
	n.Helper()
	must(n, n.Views.WaitFor(n.Context(), n.End()))
	snap, err := query.NewErasingViews(n.Views).Snapshot(n.Context())
	must(n, err)
	ids, err := snap.Slots(n.token(), source, "")
	must(n, errors.Join(err, snap.Close()))
	if len(ids) != 1 {
		n.Fatalf("%d slots, want one", len(ids))
	}
	at := events.Aggregate{Tenant: n.token(), Kind: events.KindFact, ID: ids[0]}
	return n.slotAt(at), at
}

func (n *node) slotAt(at events.Aggregate) *events.Slot {
	n.Helper()
	slot := &events.Slot{}
	for r, err := range n.Events.ReadAggregate(n.Context(), at, 0) {
		must(n, err)
		slot.Apply(r)
	}
	return slot
}

// A fact takes what a reviewer made of it along, and what was made of that.
func TestForgetFactWithItsEdits(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	source := n.Tell("maria", "She plays the cello.")
	original := n.Promoted(fact("maria", "instrument", `"cello"`, day(2), source))
	other := n.Promoted(fact("maria", "instrument", `"viola"`, day(3), n.Tell("maria", "The viola.")))
	slot, at := n.slotOf(source)
	sid, err := n.sid("maria")
	must(t, err)
	first, second := newID(), newID()
	edited := func(id, of string) events.FactProposed {
		p := slot.Find(original).FactProposed
		p.Fact, p.Edits = id, of
		return p
	}
	_, err = n.Events.Append(t.Context(), events.Commit{
		ID: newID(), Aggregate: at, Time: n.Clock.Now(), Events: []events.Event{edited(first, original), edited(second, first)},
	}, events.Expect(slot.Position))
	must(t, err)
	e, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindFact, original)
	must(t, err)
	slot = n.slotAt(at)
	for _, id := range []string{original, first, second} {
		if f := slot.Find(id); f.Status != events.StatusDeleted || f.Erasure != e.ErasureID || f.Subject != sid {
			t.Errorf("%+v", f)
		}
	}
	if slot.Find(other).Status == events.StatusDeleted || n.keyless(other) || !n.keyless(original) {
		t.Error("not exactly what was made of the fact is gone")
	}
}
