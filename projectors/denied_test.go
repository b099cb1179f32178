package projectors

import (
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/events"
)

// TestDeniedBeforeCleared holds that a subject is denied to readers, with what others have from it alone, while its rows are
// still being cleared; and that what is left in the log is told of only when they are.
func TestDeniedBeforeCleared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	src := w.capture(t, "acme", "anna", "source")
	for i := range 3 * page {
		w.capture(t, "acme", "anna", "episode "+strconv.Itoa(i))
	}
	p := w.proposal(t, "acme", "ben", "city", "Berlin", day(1), src)
	w.promote(t, "acme", "city", p, since(day(1)))
	kept := w.capture(t, "acme", "ben", "oboe")
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	tenant := w.tenant(t, "acme").Token()
	facts, err := v.lane(Facts)
	if err != nil {
		t.Fatal(err)
	}
	memories, err := v.lane(Memories)
	if err != nil {
		t.Fatal(err)
	}
	memories.folding.Lock() // as if it took long
	early := 0
	memories.engine.publish = func(s viewState) {
		if s.denied > s.position {
			early++
		}
		memories.publish(s)
	}
	w.forgetSubject(t, "acme", "anna")
	if err := facts.waitDenied(t.Context(), w.head); err != nil {
		t.Fatal(err)
	}
	with(t, v.Views, func(s *Snapshot) {
		if !s.SubjectForgotten(tenant, src.sid) {
			t.Error("a reader sees the subject")
		}
		if row, err := s.Fact(tenant, p.Fact); err != nil || row.Status != events.StatusDeleted {
			t.Errorf("a reader sees what was taken from it: %v", err)
		}
		if row, err := s.Episode(tenant, kept.id); err != nil || row.Forgotten {
			t.Errorf("control: a neighbour: %v", err)
		}
	})
	memories.folding.Unlock()
	if err := v.WaitDenied(t.Context(), w.head); err != nil {
		t.Fatal(err)
	}
	n := 0
	for l, err := range v.Leftovers(t.Context(), tenant) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Subject == src.sid {
			n++
		}
	}
	if want := 1 + 3*page; n < want {
		t.Errorf("%d messages are left over, want %d", n, want)
	}
	v.waitFor(t, w.head)
	if early < 3 {
		t.Errorf("control: it was denied in %d states before the end", early)
	}
	checkViews(t, v.Views, w.model(t, w.head))
}
