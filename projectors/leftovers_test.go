package projectors

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors/index"
)

// rowsAbout counts the rows of a view that hold a token, in the key or in the value, without the tombstones of subjects and
// what leads to them, and without what tells what is left of them in the log.
func rowsAbout(t *testing.T, v *Views, name, token string) int {
	t.Helper()
	l, err := v.lane(name)
	if err != nil {
		t.Fatal(err)
	}
	it, err := l.serving.db.NewIter(&pebble.IterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeInto(it, &err)
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		stays := bytes.IndexByte([]byte{sortSubjectTomb, sortErasure, sortLeftover}, it.Key()[0]) >= 0
		if !stays && (bytes.Contains(it.Key(), []byte(token)) || bytes.Contains(it.Value(), []byte(token))) {
			n++
		}
	}
	if err := it.Error(); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEmptySlotLeavesNothing holds that a slot all of whose facts are forgotten has no row that could outlive its subject,
// and can be filled again.
func TestEmptySlotLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	src := w.capture(t, "acme", "anna", "source")
	first := w.proposal(t, "acme", "anna", "city", "Berlin", day(1), src)
	w.promote(t, "acme", "city", first, since(day(1)))
	slot := w.slot(t, "acme", first.Subject, "city")
	w.append(t, "acme", events.KindFact, slot,
		events.FactForgotten{Fact: first.Fact, Subject: first.Subject, Erasure: "erasure-1"})
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	checkViews(t, v.Views, w.model(t, w.head))

	second := w.proposal(t, "acme", "anna", "city", "Lisbon", day(2), src)
	w.promote(t, "acme", "city", second, since(day(2)))
	v.waitFor(t, w.head)
	checkViews(t, v.Views, w.model(t, w.head))
	for _, name := range []string{Facts, Memories} {
		if rowsAbout(t, v.Views, name, slot) == 0 {
			t.Errorf("control: %s has no row of the slot", name)
		}
	}
	w.append(t, "acme", events.KindFact, slot,
		events.FactForgotten{Fact: second.Fact, Subject: first.Subject, Erasure: "erasure-2"})
	w.forgetSubject(t, "acme", "anna")
	v.waitFor(t, w.head)
	checkViews(t, v.Views, w.model(t, w.head))
	for _, name := range []string{Facts, Memories} {
		if n := rowsAbout(t, v.Views, name, slot) + rowsAbout(t, v.Views, name, first.Subject); n != 0 {
			t.Errorf("%s has %d rows left", name, n)
		}
	}
}

// TestForgottenTraceLeavesNothing holds that what is said of a trace after its subject was forgotten is not kept.
func TestForgottenTraceLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sid := w.sid(t, "acme", "anna")
	say := func(list ...events.Event) { w.append(t, "acme", events.KindTrace, events.SharedID, list...) }
	recalled := func(id, subject string) events.TraceRecalled {
		return events.TraceRecalled{Trace: id, Subject: subject, Class: "c", Memories: []string{"memory-1"}, Content: []byte("sealed")}
	}
	say(recalled("trace-before", sid))
	say(recalled("trace-of-all", ""))
	w.forgetSubject(t, "acme", "anna")
	for _, id := range []string{"trace-before", "trace-of-all", "trace-after"} {
		if id == "trace-after" {
			say(recalled(id, sid))
		}
		say(events.TraceUsed{Trace: id, Memories: []string{"memory-1"}})
		say(events.TraceJudged{Trace: id, Memory: "memory-1", Judgement: events.JudgedUseful})
	}
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	checkViews(t, v.Views, w.model(t, w.head))
	for id, want := range map[string]int{"trace-before": 0, "trace-after": 0, "trace-of-all": 1} {
		if n := rowsAbout(t, v.Views, Traces, id); n != want {
			t.Errorf("%s has %d rows, want %d", id, n, want)
		}
	}
}

// TestUseWaitsForParkedRecall holds that what is said of a trace waits while its recall is parked, and that what is said of one
// that is here does not.
func TestUseWaitsForParkedRecall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	say := func(list ...events.Event) uint64 {
		return w.append(t, "acme", events.KindTrace, events.SharedID, list...)
	}
	say(events.TraceRecalled{Trace: "trace-1", Class: "c", Content: []byte("sealed")})
	badAt := say(events.TraceRecalled{Trace: "trace-2", Class: "c", Content: []byte("sealed")})
	say(events.TraceUsed{Trace: "trace-1", Memories: []string{"memory-1"}})
	say(events.TraceUsed{Trace: "trace-2", Memories: []string{"memory-2"}})
	say(events.TraceJudged{Trace: "trace-2", Memory: "memory-2", Judgement: events.JudgedWrong})
	say(events.TraceUsed{Trace: "trace-unknown", Memories: []string{"memory-3"}})
	fs := vfs.NewMem()
	cfg := w.config(fs)
	cfg.Log = damagedLog{Follower: w.log, damage: func(m *events.Message) {
		if m.Position == badAt {
			m.Data = nil
		}
	}}
	v := start(t, cfg)
	v.waitFor(t, w.head)
	if st := statusOf(t, v.Views, Traces); st.Parked != 4 || st.Records != 1 {
		t.Errorf("parked %d, records %d", st.Parked, st.Records)
	}
	if res, err := v.RetryParked(t.Context(), Traces); err != nil || res.Folded != 0 || res.Parked != 4 {
		t.Errorf("retry of what is still damaged: %+v %v", res, err)
	}
	v.close(t)
	v = start(t, w.config(fs)) // the log is repaired
	defer v.close(t)
	if res, err := v.RetryParked(t.Context(), Traces); err != nil || res.Folded != 4 || res.Parked != 0 {
		t.Errorf("retry: %+v %v", res, err)
	}
	checkViews(t, v.Views, w.model(t, w.head))
	if res, err := v.Verify(t.Context(), Traces, nil); err != nil || !res.OK {
		t.Errorf("verify: %+v %v", res, err)
	}
}

// TestForeignTombstoneParks holds that a tombstone that names another subject than its episode has parks, before anything is
// written, and that the episode's own still ends all of it.
func TestForeignTombstoneParks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.capture(t, "acme", "anna", "cello")
	other := w.sid(t, "acme", "ben")
	token := w.tenant(t, "acme").Token()
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	w.append(t, "acme", events.KindEpisode, c.id, events.EpisodeForgotten{Subject: other, Erasure: "erasure-1"})
	e, d := w.episode(t, "acme", "anna", "episode-two-in-one", "cello")
	w.append(t, "acme", events.KindEpisode, d.id, e, events.EpisodeForgotten{Subject: other, Erasure: "erasure-2"})
	v.waitFor(t, w.head)
	if st := statusOf(t, v.Views, Memories); st.Parked != 2 {
		t.Errorf("parked %d", st.Parked)
	}
	find := func(want int) {
		t.Helper()
		with(t, v.Views, func(s *Snapshot) {
			row, err := s.Episode(token, c.id)
			if err != nil || row.Forgotten != (want == 0) {
				t.Errorf("episode: forgotten %v, %v", row.Forgotten, err)
			}
			found, err := s.Candidates(t.Context(), index.Query{Filter: index.Filter{Tenant: token}, K: 10})
			if err != nil || found.Eligible != want {
				t.Errorf("%d in the index, want %d: %v", found.Eligible, want, err)
			}
		})
	}
	find(1)
	w.forgetEpisode(t, c)
	v.waitFor(t, w.head)
	find(0)
}
