package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// changesOf are what a ledger says that a copy of an epoch up to a position lacks.
func (w *world) changesOf(t *testing.T, standing ledger.Standing) []ledger.SubjectChange {
	t.Helper()
	list, err := ledger.ChangesSince(t.Context(), w.streams.Ledger(), standing)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestChanges holds which changes of subjects a copy lacks: those behind it, in the
// order of the log, and of those that an epoch has given up only what was written anew.
func TestChanges(t *testing.T) {
	t.Parallel()
	w := mustOpenLog(t, t.TempDir())
	l := w.mustOpen(t)
	w.capture(t, 50)
	checkpoint(t, l)
	change := func(what ledger.What, position uint64) ledger.SubjectChange {
		return ledger.SubjectChange{Tenant: "acme", Subject: "s", What: what, Token: "t", Position: position}
	}
	record := func(list ...ledger.SubjectChange) {
		t.Helper()
		if err := l.RecordSubject(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	records := func() uint64 {
		t.Helper()
		s, err := w.streams.Ledger().State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Last
	}
	held, released, given := change(ledger.WhatHeld, 10), change(ledger.WhatReleased, 30), change(ledger.WhatConsentGranted, 40)
	record(given)
	record(released, held)
	before := records()
	record(given, held)
	if got := records(); got != before {
		t.Errorf("what is there was written again: %d records, %d before", got, before)
	}
	want := func(s ledger.Standing, list ...ledger.SubjectChange) {
		t.Helper()
		if diff := cmp.Diff(list, w.changesOf(t, s)); diff != "" {
			t.Errorf("epoch %d up to %d: %s", s.Epoch, s.Last, diff)
		}
	}
	want(ledger.Standing{Last: 50})
	want(ledger.Standing{Last: 9}, held, released, given)
	want(ledger.Standing{Last: 30}, given)
	if err := l.NewEpoch(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	checkpoint(t, l)
	again := change(ledger.WhatReleased, 21)
	record(again, held)
	want(ledger.Standing{Epoch: 1, Last: 50})
	want(ledger.Standing{Epoch: 1, Last: 20}, again)
	want(ledger.Standing{Last: 50}, again)
	want(ledger.Standing{Last: 9}, held, again)
	// Another process, or the next start, knows what is there.
	before = records()
	l = w.mustOpen(t)
	record(again, held)
	if got := records(); got != before {
		t.Errorf("%d records, %d before", got, before)
	}
}

// TestErasedInAnotherEpoch holds that a position which was named as erased before an
// epoch began behind it may not be empty in that epoch, and one before it may.
func TestErasedInAnotherEpoch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size   uint64
		damage bool
	}{"behind it": {40, false}, "at it": {30, false}, "before it": {29, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := made(t, 50, 30)
			w := mustOpenLog(t, dir)
			l := w.mustOpen(t)
			if !l.IsErased(30) {
				t.Fatal("control: it is not erased")
			}
			if err := l.NewEpoch(t.Context(), c.size); err != nil {
				t.Fatal(err)
			}
			err := l.Checkpoint(t.Context())
			_, opened := ledger.Open(t.Context(), w.config(), nil)
			if c.damage {
				wantDamage(t, err, ledger.KindLogHole)
				wantDamage(t, opened, ledger.KindLogHole)
			} else if err != nil || opened != nil {
				t.Errorf("%v, %v", err, opened)
			}
			if got := l.IsErased(30); got == c.damage {
				t.Errorf("erased: %v", got)
			}
		})
	}
}

func TestChangesOf(t *testing.T) {
	t.Parallel()
	list := []events.Event{
		events.SubjectHeld{Hold: "h"},
		events.SubjectReleased{Hold: "h"},
		events.ConsentGranted{Category: "c"},
		events.ConsentWithdrawn{Category: "c", Erasure: "x"},
	}
	r := events.Recorded{Commit: events.Commit{Aggregate: events.Aggregate{Tenant: "acme", Kind: events.KindSubject, ID: "s"}, Events: list}, Position: 7}
	var back []events.Event
	for _, c := range ledger.ChangesOf(r) {
		if c.Tenant != "acme" || c.Subject != "s" || c.Position != 7 {
			t.Errorf("%+v", c)
		}
		back = append(back, c.Event())
	}
	if diff := cmp.Diff(list, back); diff != "" {
		t.Error(diff)
	}
	r.Aggregate.Kind = events.KindEpisode
	if got := ledger.ChangesOf(r); len(got) > 0 {
		t.Errorf("of an episode: %v", got)
	}
}
