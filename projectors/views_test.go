package projectors

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/events"
)

// TestStory follows one fact from its source to its end.
func TestStory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)

	berlin := w.capture(t, "acme", "anna", "I moved to Berlin")
	first := w.proposal(t, "acme", "anna", "city", "Berlin", day(1), berlin)
	w.promote(t, "acme", "city", first, since(day(1)))
	lisbon := w.capture(t, "acme", "anna", "I moved to Lisbon")
	second := w.proposal(t, "acme", "anna", "city", "Lisbon", day(10), lisbon)
	w.promote(t, "acme", "city", second, since(day(10)),
		events.FactSuperseded{Fact: first.Fact, By: second.Fact, Valid: between(day(1), day(10))})
	w.embed(t, "acme", second.Subject, second.Class, second.Fact, events.KindFact, unit(1, 8))
	v.waitFor(t, w.head)
	checkViews(t, v.Views, w.model(t, w.head))

	w.forgetEpisode(t, lisbon)
	v.waitFor(t, w.head)
	checkViews(t, v.Views, w.model(t, w.head))

	w.forgetSubject(t, "acme", "anna")
	v.waitFor(t, w.head)
	checkViews(t, v.Views, w.model(t, w.head))
}
