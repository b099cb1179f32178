package events_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
)

func TestLosses(t *testing.T) {
	t.Parallel()
	ref := func(id string) events.SourceRef { return events.SourceRef{Episode: id, Subject: "s"} }
	unknown := func(id string) events.SourceRef { return events.SourceRef{Episode: id} }
	fact := func(id string, status events.FactStatus, sources ...events.SourceRef) *events.SlotFact {
		return &events.SlotFact{FactProposed: events.FactProposed{Fact: id, Subject: "s", Sources: sources}, Status: status}
	}
	slot := events.Slot{Facts: []*events.SlotFact{
		fact("one", events.StatusActive, ref("a")),
		fact("two", events.StatusActive, ref("a"), ref("b")),
		fact("both", events.StatusSuperseded, ref("a"), ref("c")),
		fact("other", events.StatusActive, ref("b")),
		fact("rejected", events.StatusRejected, ref("a"), unknown("never")),
		fact("was unknown", events.StatusActive, unknown("a"), ref("b")),
		fact("deleted", events.StatusDeleted, ref("a")),
		fact("spared", events.StatusActive, ref("a")),
		fact("no source", events.StatusActive),
	}}
	of := func(f *events.SlotFact) bool { return f.Fact != "spared" }
	erasures := map[string]string{"a": "x", "c": "y"}
	gone := func(src events.SourceRef) (string, bool) {
		erasure, ok := erasures[src.Episode]
		return erasure, ok
	}
	want := []events.Event{
		events.FactForgotten{Fact: "one", Subject: "s", Erasure: "x"},
		events.FactSourceLost{Fact: "two", Source: "a", Erasure: "x"},
		events.FactForgotten{Fact: "both", Subject: "s", Erasure: "y"},
		events.FactForgotten{Fact: "rejected", Subject: "s", Erasure: "x"},
		events.FactSourceLost{Fact: "was unknown", Source: "a", Erasure: "x"},
	}
	list := slot.Losses(of, gone)
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	slot.Apply(events.Recorded{Commit: events.Commit{Events: list}, Position: 1})
	if again := slot.Losses(of, gone); len(again) > 0 {
		t.Errorf("decided again: %v", again)
	}
}
