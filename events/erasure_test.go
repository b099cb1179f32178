package events_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/annals-memory/annals/events"
)

func erasureCommit(position uint64, list ...events.Event) events.Recorded {
	return events.Recorded{
		Commit:   events.Commit{ID: "c", Principal: "p", Events: list},
		Position: position, RecordedAt: time.Unix(int64(position), 0).UTC(),
	}
}

func TestErasureState(t *testing.T) {
	t.Parallel()
	requested := events.ErasureRequested{Cause: events.CauseRequest, Scope: "record", Matched: 1, Tombstone: 4}
	progress := func(store string, planned, done int) events.StoreProgress {
		return events.StoreProgress{Store: store, Planned: planned, Done: done}
	}
	commits := []events.Recorded{
		erasureCommit(5, requested, events.ErasureAdvanced{Level: events.LevelHeld}),
		erasureCommit(6, events.ErasureAdvanced{Level: events.LevelDenied}),
		erasureCommit(7, events.ErasureAdvanced{Level: events.LevelShredded, Stores: []events.StoreProgress{progress("log", 3, 0), progress("keys", 1, 1)}}),
		erasureCommit(8, events.ErasureAdvanced{Level: events.LevelDenied}), // a level is not lost
		erasureCommit(9, events.ErasureAdvanced{Level: events.LevelPurged, Stores: []events.StoreProgress{progress("log", 3, 3)}}),
	}
	want := events.ErasureState{
		ErasureRequested: requested, Principal: "p", Level: events.LevelPurged, Position: 9,
		RequestedAt: time.Unix(5, 0).UTC(),
		Reached: map[events.Level]time.Time{
			events.LevelHeld: time.Unix(5, 0).UTC(), events.LevelDenied: time.Unix(6, 0).UTC(),
			events.LevelShredded: time.Unix(7, 0).UTC(), events.LevelPurged: time.Unix(9, 0).UTC(),
		},
		Positions: map[events.Level]uint64{
			events.LevelHeld: 5, events.LevelDenied: 6, events.LevelShredded: 7, events.LevelPurged: 9,
		},
		Stores: []events.StoreProgress{progress("keys", 1, 1), progress("log", 3, 3)},
	}
	var once, twice events.ErasureState
	if once.Known() {
		t.Error("an erasure without events is known")
	}
	for _, r := range commits {
		once.Apply(r)
		twice.Apply(r)
		twice.Apply(r)
	}
	for name, got := range map[string]events.ErasureState{"once": once, "twice": twice} {
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSubjectState(t *testing.T) {
	t.Parallel()
	var s events.SubjectState
	for _, r := range []events.Recorded{
		erasureCommit(1, events.SubjectRegistered{}),
		erasureCommit(2, events.SubjectHeld{Hold: "b"}, events.SubjectHeld{Hold: "a"}, events.SubjectHeld{Hold: "b"}),
		erasureCommit(3, events.ConsentGranted{Category: "x"}, events.ConsentGranted{Category: "y"}),
		erasureCommit(4, events.SubjectForgotten{Erasure: "e"}, events.SubjectForgotten{Erasure: "later"}),
		erasureCommit(5, events.SubjectReleased{Hold: "a"}, events.ConsentWithdrawn{Category: "x"}),
		erasureCommit(6, events.SubjectExported{Export: "x", Position: 5, Count: 2}),
		erasureCommit(2, events.SubjectReleased{Hold: "b"}), // was applied before
	} {
		s.Apply(r)
	}
	want := events.SubjectState{
		Registered: true, Erasure: "e", Tombstone: 4, Holds: []string{"b"}, Consents: map[string]bool{"x": false, "y": true}, Position: 6,
		Exports: []events.Export{{
			SubjectExported: events.SubjectExported{Export: "x", Position: 5, Count: 2},
			Principal:       "p", RecordedAt: time.Unix(6, 0).UTC(),
		}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("subject (-want +got):\n%s", diff)
	}
}
