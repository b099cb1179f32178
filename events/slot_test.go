package events_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
)

// slotOf folds one commit for each list of events.
func slotOf(commits ...[]events.Event) *events.Slot {
	var s events.Slot
	for i, list := range commits {
		s.Apply(eventstest.Record(eventstest.NewCommit(events.KindFact, "slot-a", list...), uint64(i+1)))
	}
	return &s
}

func list(e ...events.Event) []events.Event { return e }

func decided(fact string, d events.Decision, into string) events.FactDecided {
	return events.FactDecided{Fact: fact, Decision: d, Into: into, Policy: events.PolicyRef{Name: "default", Version: 1}}
}

// promoted is all that makes a candidate a fact, true from a day on.
func promoted(fact string, day int) []events.Event {
	return list(eventstest.Proposed(fact), decided(fact, events.DecisionPromote, fact),
		events.FactPromoted{Fact: fact, Valid: eventstest.Since(eventstest.Day(day))})
}

func TestSlotStatus(t *testing.T) {
	t.Parallel()
	since, until := eventstest.Since(eventstest.Day(0)), eventstest.Between(eventstest.Day(0), eventstest.Day(9))
	forgotten := events.FactForgotten{Fact: "fact-a", Subject: eventstest.Subject, Erasure: "erasure-a"}
	for name, test := range map[string]struct {
		after []events.Event
		want  events.FactStatus
		valid []events.Interval
	}{
		"proposed":       {nil, events.StatusCandidate, nil},
		"for review":     {list(decided("fact-a", events.DecisionReview, "")), events.StatusCandidate, nil},
		"quarantined":    {list(decided("fact-a", events.DecisionQuarantine, "")), events.StatusCandidate, nil},
		"rejected":       {list(decided("fact-a", events.DecisionReject, "")), events.StatusRejected, nil},
		"merged":         {list(decided("fact-a", events.DecisionPromote, "fact-z")), events.StatusMerged, nil},
		"decided only":   {list(decided("fact-a", events.DecisionPromote, "fact-a")), events.StatusCandidate, nil},
		"promoted":       {list(events.FactPromoted{Fact: "fact-a", Valid: since}), events.StatusActive, since},
		"promoted late":  {list(events.FactPromoted{Fact: "fact-a"}), events.StatusSuperseded, nil},
		"superseded":     {list(events.FactPromoted{Fact: "fact-a", Valid: since}, events.FactSuperseded{Fact: "fact-a", By: "fact-z", Valid: until}), events.StatusSuperseded, until},
		"lost a stretch": {list(events.FactPromoted{Fact: "fact-a", Valid: since}, events.FactSuperseded{Fact: "fact-a", By: "fact-z", Valid: append(until, eventstest.Since(eventstest.Day(20))...)}), events.StatusActive, append(until, eventstest.Since(eventstest.Day(20))...)},
		"lost a stretch before its end": {
			list(events.FactPromoted{Fact: "fact-a", Valid: eventstest.Between(eventstest.Day(0), eventstest.Day(30))},
				events.FactSuperseded{Fact: "fact-a", By: "fact-z", Valid: append(until, eventstest.Between(eventstest.Day(20), eventstest.Day(30))...)}),
			events.StatusActive, append(until, eventstest.Between(eventstest.Day(20), eventstest.Day(30))...),
		},
		"lost its end": {
			list(events.FactPromoted{Fact: "fact-a", Valid: eventstest.Between(eventstest.Day(0), eventstest.Day(30))},
				events.FactSuperseded{Fact: "fact-a", By: "fact-z", Valid: until}),
			events.StatusSuperseded, until,
		},
		"lost everything": {list(events.FactPromoted{Fact: "fact-a", Valid: since}, events.FactSuperseded{Fact: "fact-a", By: "fact-z"}), events.StatusSuperseded, nil},
		"retracted":       {list(events.FactPromoted{Fact: "fact-a", Valid: since}, events.FactRetracted{Fact: "fact-a", Valid: until}), events.StatusRetracted, until},
		"retracted, then lost a stretch": {
			list(events.FactRetracted{Fact: "fact-a", Valid: until}, events.FactSuperseded{Fact: "fact-a", By: "fact-z"}),
			events.StatusRetracted, nil,
		},
		"forgotten": {list(events.FactPromoted{Fact: "fact-a", Valid: since}, forgotten), events.StatusDeleted, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A neighbour in the same slot shows what must not change.
			neighbour := list(eventstest.Proposed("fact-b"))
			s := slotOf(neighbour, append(list(eventstest.Proposed("fact-a")), test.after...))
			f := s.Find("fact-a")
			if f == nil {
				t.Fatal("the fact is not there")
			}
			if f.Status != test.want {
				t.Errorf("is %s, want %s", f.Status, test.want)
			}
			if diff := cmp.Diff(test.valid, f.Valid); diff != "" {
				t.Errorf("valid (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(slotOf(neighbour).Facts[0], s.Find("fact-b")); diff != "" {
				t.Errorf("the neighbour has changed:\n%s", diff)
			}
		})
	}
}

func TestSlotFind(t *testing.T) {
	t.Parallel()
	s := slotOf(promoted("fact-a", 0))
	if s.Find("fact-a") == nil || s.Find("fact-") != nil || s.Find("") != nil {
		t.Error("Find goes by the whole id")
	}
}

func TestSlotAt(t *testing.T) {
	t.Parallel()
	// Two events in one commit: there is no position at which both or none are true.
	supersession := append(promoted("fact-b", 10), events.FactSuperseded{
		Fact: "fact-a", By: "fact-b", Valid: eventstest.Between(eventstest.Day(0), eventstest.Day(10)),
	})
	s := slotOf(promoted("fact-a", 0), supersession)
	for day, want := range map[int]string{-1: "", 0: "fact-a", 9: "fact-a", 10: "fact-b", 10_000: "fact-b"} {
		got := ""
		if f := s.At(eventstest.Day(day)); f != nil {
			got = f.Fact
		}
		if got != want {
			t.Errorf("on day %d it is %q, want %q", day, got, want)
		}
	}
	if by := s.Find("fact-a").SupersededBy; by != "fact-b" {
		t.Errorf("superseded by %q", by)
	}
}

func TestIntervalContains(t *testing.T) {
	t.Parallel()
	iv := events.Interval{From: eventstest.Day(1), To: eventstest.Day(2)}
	for at, want := range map[int]bool{0: false, 1: true, 2: false, 3: false} {
		if got := iv.Contains(eventstest.Day(at)); got != want {
			t.Errorf("day %d: %v", at, got)
		}
	}
	open := events.Interval{From: eventstest.Day(1)}
	if open.Contains(eventstest.Day(0)) || !open.Contains(eventstest.Day(100_000)) {
		t.Error("an open interval begins and does not end")
	}
	if empty := (events.Interval{From: eventstest.Day(1), To: eventstest.Day(1)}); empty.Contains(eventstest.Day(1)) {
		t.Error("an interval that ends where it begins holds something")
	}
}

func TestSlotSources(t *testing.T) {
	t.Parallel()
	ref := func(episode string) events.SourceRef {
		return events.SourceRef{Episode: episode, Subject: eventstest.Subject}
	}
	s := slotOf(promoted("fact-a", 0),
		list(events.FactCorroborated{Fact: "fact-a", Candidate: "fact-b", Sources: []events.SourceRef{
			ref("episode-b"), ref("episode-a"), ref("episode-b"),
		}}),
		list(events.FactSourceLost{Fact: "fact-a", Source: "episode-a", Erasure: "erasure-a"}),
		list(events.FactSourceLost{Fact: "fact-a", Source: "episode-", Erasure: "erasure-a"}))
	if diff := cmp.Diff([]events.SourceRef{ref("episode-b")}, s.Find("fact-a").Sources); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSlotProvenance(t *testing.T) {
	t.Parallel()
	first := eventstest.Record(eventstest.NewCommit(events.KindFact, "slot-a", eventstest.Proposed("fact-a")), 10)
	second := eventstest.Record(eventstest.NewCommit(events.KindFact, "slot-a",
		decided("fact-a", events.DecisionReview, ""), events.FactPromoted{Fact: "fact-a"}), 20)
	var s events.Slot
	s.Apply(first)
	s.Apply(second)
	f := s.Find("fact-a")
	if f.Principal != eventstest.Principal || f.Command != first.ID ||
		f.ProposedAt != 10 || !f.RecordedAt.Equal(first.RecordedAt) {
		t.Errorf("proposed by %q with %q at %d, %v", f.Principal, f.Command, f.ProposedAt, f.RecordedAt)
	}
	if f.ChangedAt != 20 || !f.ChangedTime.Equal(second.RecordedAt) {
		t.Errorf("changed at %d, %v", f.ChangedAt, f.ChangedTime)
	}
	if f.Decision.Decision != events.DecisionReview {
		t.Errorf("decided as %q", f.Decision.Decision)
	}
}

func TestSlotTouched(t *testing.T) {
	t.Parallel()
	s := slotOf(promoted("fact-a", 0), promoted("fact-b", 1))
	forget := func(id string) events.FactForgotten { return events.FactForgotten{Fact: id, Erasure: "erasure-a"} }
	for _, step := range []struct {
		events []events.Event
		want   []string
	}{
		{list(events.FactRetracted{Fact: "fact-b"}, events.FactRetracted{Fact: "fact-a"}, events.FactRetracted{Fact: "fact-b"}), []string{"fact-b", "fact-a"}},
		{list(events.FactRetracted{Fact: "fact-z"}), nil}, // not there
		{list(eventstest.Proposed("fact-a")), nil},        // there already
		{list(forget("fact-a"), forget("fact-a")), []string{"fact-a"}},
		{list(events.FactRetracted{Fact: "fact-a"}), nil}, // forgotten
		{list(events.SubjectForgotten{Erasure: "erasure-a"}, events.TraceUsed{Trace: "t"}), nil},
	} {
		c := eventstest.NewCommit(events.KindFact, "slot-a", step.events...)
		at := s.Position + 1
		if got := s.Apply(eventstest.Record(c, at)); !slices.Equal(got, step.want) {
			t.Errorf("commit %d touched %v, want %v", at, got, step.want)
		}
		if s.Position != at {
			t.Errorf("is at %d after commit %d", s.Position, at)
		}
	}
}
