package events_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
)

func fold(history []events.Recorded) *events.Slot {
	var s events.Slot
	for _, r := range history {
		s.Apply(r)
	}
	return &s
}

// dump is a slot as a view stores it.
func dump(t *rapid.T, s *events.Slot) string {
	data, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		t.Fatalf("the slot cannot be stored: %v", err)
	}
	return string(data)
}

func TestSlotTwiceIsOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history := eventstest.History(t)
		var s events.Slot
		for i, r := range history {
			s.Apply(r)
			before := dump(t, &s)
			again := rapid.IntRange(0, i).Draw(t, "redelivered from")
			for _, old := range history[again : i+1] {
				if touched := s.Apply(old); touched != nil {
					t.Fatalf("position %d was applied before and touched %v", old.Position, touched)
				}
			}
			if after := dump(t, &s); after != before {
				t.Fatalf("a redelivery changed\n%s\nto\n%s", before, after)
			}
		}
		if diff := cmp.Diff(fold(history), &s); diff != "" {
			t.Fatalf("(-once +twice):\n%s", diff)
		}
	})
}

func TestSlotTombstoneWins(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s events.Slot
		tombstones := map[string]*events.SlotFact{}
		for _, r := range eventstest.History(t) {
			s.Apply(r)
			for _, f := range s.Facts {
				was := tombstones[f.Fact]
				if was != nil {
					if diff := cmp.Diff(was, f); diff != "" {
						t.Fatalf("%s was forgotten and has changed:\n%s", f.Fact, diff)
					}
				}
				if was == nil && f.Status == events.StatusDeleted {
					kept := *f
					tombstones[f.Fact] = &kept
				}
			}
		}
	})
}

func TestSlotTombstoneHoldsNoValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history := eventstest.History(t)
		s := fold(history)
		last := eventstest.Record(eventstest.NewCommit(events.KindFact, "slot-a",
			events.FactForgotten{Fact: "fact-a", Erasure: "erasure-a"}), s.Position+1)
		s.Apply(last)
		f := s.Find("fact-a")
		if f == nil {
			return // it was never proposed
		}
		// Of what was proposed only the ids that lead to the tombstone are left.
		want := &events.SlotFact{
			FactProposed: events.FactProposed{Fact: f.Fact, Subject: f.Subject, Class: f.Class, Trust: f.Trust},
			Status:       events.StatusDeleted, Command: f.Command, Erasure: f.Erasure,
			ProposedAt: f.ProposedAt, RecordedAt: f.RecordedAt, ChangedAt: f.ChangedAt, ChangedTime: f.ChangedTime,
		}
		if diff := cmp.Diff(want, f); diff != "" {
			t.Fatalf("left in the tombstone (-may +is):\n%s", diff)
		}
	})
}

func TestSlotTouchesWhatItSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s events.Slot
		for _, r := range eventstest.History(t) {
			before := map[string]events.SlotFact{}
			for _, f := range s.Facts {
				before[f.Fact] = *f
				kept := before[f.Fact]
				kept.Sources = slices.Clone(f.Sources)
				before[f.Fact] = kept
			}
			touched := s.Apply(r)
			for _, f := range s.Facts {
				was, known := before[f.Fact]
				if !slices.Contains(touched, f.Fact) {
					if diff := cmp.Diff(was, *f); !known || diff != "" {
						t.Fatalf("position %d changed %s and says %v:\n%s", r.Position, f.Fact, touched, diff)
					}
				} else if f.ChangedAt != r.Position {
					t.Fatalf("position %d touched %s, which says %d", r.Position, f.Fact, f.ChangedAt)
				}
			}
			for i, id := range touched {
				if s.Find(id) == nil || slices.Contains(touched[:i], id) {
					t.Fatalf("position %d says it touched %v", r.Position, touched)
				}
			}
		}
	})
}

// TestSlotLeavesCommitsAlone matters where one commit is folded by more than
// one reader.
func TestSlotLeavesCommitsAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history := eventstest.History(t)
		var before []events.Message
		for _, r := range history {
			m, err := events.Encode(r.Commit)
			if err != nil {
				t.Fatal(err)
			}
			before = append(before, m)
		}
		fold(history)
		for i, r := range history {
			m, err := events.Encode(r.Commit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before[i], m); diff != "" {
				t.Fatalf("folding changed commit %d:\n%s", r.Position, diff)
			}
		}
	})
}

func TestSlotIsStoredWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := fold(eventstest.History(t))
		text := dump(t, s)
		var back events.Slot
		if err := json.Unmarshal([]byte(text), &back, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, &back, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-stored +read):\n%s", diff)
		}
		if field := regexp.MustCompile(`"[^"]*[A-Z][^"]*":`).FindString(text); field != "" {
			t.Fatalf("the field %s is not in snake case", field)
		}
	})
}
