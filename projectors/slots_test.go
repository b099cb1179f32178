package projectors

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/events"
)

// TestSlotInUseStays holds that a slot that is too large for the cache is not dropped while it is folded, though the commit
// applies batches on its way: what the next commit builds on would be missing.
func TestSlotInUseStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	src := w.capture(t, "acme", "anna", "source")
	p := w.proposal(t, "acme", "anna", "city", "Berlin", day(1), src)
	slot := w.slot(t, "acme", p.Subject, "city")
	w.append(t, "acme", events.KindFact, slot, p)
	w.embed(t, "acme", p.Subject, p.Class, p.Fact, events.KindFact, unit(1, 8))
	w.append(t, "acme", events.KindFact, slot,
		events.FactDecided{Fact: p.Fact, Decision: events.DecisionPromote, Into: p.Fact},
		events.FactPromoted{Fact: p.Fact, Valid: since(day(1))})
	w.append(t, "acme", events.KindFact, slot, events.FactRetracted{Fact: p.Fact, Valid: between(day(1), day(2))})

	v, err := Open(t.Context(), w.config(vfs.NewMem()))
	if err != nil {
		t.Fatal(err)
	}
	l, err := v.lane(Memories)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, ok := l.engine.folder.(*memories)
	if !ok {
		t.Fatalf("folder is %T", l.engine.folder)
	}
	m.slots.cache.limit = 1
	r := follow(v)
	defer r.close(t)
	r.waitFor(t, w.head)
	if res, err := v.Verify(t.Context(), Memories, nil); err != nil || !res.OK {
		t.Errorf("the fold with a small cache differs: %+v %v", res, err)
	}
	if n := m.slots.cache.recent.Len(); n != 1 {
		t.Errorf("%d slots are kept, want the last", n)
	}
}
