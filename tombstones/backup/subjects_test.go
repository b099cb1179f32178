package backup_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/tombstones/backup"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// changes writes events of a subject into the log, and their copies into the ledger.
func (m *memory) changes(sid string, list ...events.Event) {
	m.t.Helper()
	for _, e := range list {
		c := events.Commit{
			ID: nodetest.NewID(), Aggregate: events.Aggregate{Tenant: m.tenant().Token(), Kind: events.KindSubject, ID: sid},
			Time: events.Micro(time.Now()), Events: []events.Event{e},
		}
		ack, err := m.streams.Log().Append(m.t.Context(), c, events.Expect(m.state(sid).Position))
		must(m.t, err)
		must(m.t, m.ledger.RecordSubject(m.t.Context(), ledger.ChangesOf(events.Recorded{Commit: c, Position: ack.Position})))
	}
	must(m.t, m.ledger.Checkpoint(m.t.Context()))
}

func (m *memory) state(sid string) events.SubjectState {
	m.t.Helper()
	s, err := events.ReadSubject(m.t.Context(), m.streams.Log(), m.tenant().Token(), sid)
	must(m.t, err)
	return s
}

// forgotten writes into the ledger that an episode was.
func (m *memory) forgotten(id, sid, erasure string) {
	m.t.Helper()
	must(m.t, m.ledger.Record(m.t.Context(), []ledger.Tombstone{
		{Tenant: m.tenant().Token(), Kind: events.KindEpisode, Aggregate: id, Subject: sid, Erasure: erasure, Position: m.head()},
	}))
}

// TestApplyHoldsAndConsents puts back data that is older than holds, consents and
// their ends: each is as it was last, what is held keeps its keys, and what is not
// loses them. It does so with the same data again under the ledger of the next epoch.
func TestApplyHoldsAndConsents(t *testing.T) {
	t.Parallel()
	m := fresh(t)
	kept, lifted, free := m.tell("hana", "one"), m.tell("lev", "two"), m.tell("maria", "three")
	hana, lev, maria := m.subject("hana"), m.subject("lev"), m.subject("maria")
	m.changes(lev, events.SubjectHeld{Hold: "h"})
	m.changes(maria, events.ConsentGranted{Category: "a", Content: []byte("sealed")}, events.ConsentGranted{Category: "b", Content: []byte("sealed")})
	data, keys := m.take(backup.KindData), m.take(backup.KindKeys)
	m.changes(hana, events.SubjectHeld{Hold: "g"}, events.SubjectReleased{Hold: "g"}, events.SubjectHeld{Hold: "h"})
	m.changes(lev, events.SubjectReleased{Hold: "h"})
	m.changes(maria,
		events.ConsentWithdrawn{Category: "a", Erasure: "x"},
		events.ConsentWithdrawn{Category: "b", Erasure: "y"}, events.ConsentGranted{Category: "b", Content: []byte("sealed")},
		events.ConsentGranted{Category: "c", Content: []byte("sealed")}, events.ConsentWithdrawn{Category: "c", Erasure: "z"},
	)
	m.changes("absent", events.SubjectHeld{Hold: "h"})
	m.forgotten(kept, hana, "u")
	m.forgotten(lifted, lev, "v")
	m.forgotten(free, maria, "w")
	ledgers := m.take(backup.KindLedger)
	for round := range 2 {
		to, r := m.restore(data, keys, ledgers)
		if r.Appended != 3 || r.Held != 1 || r.Changes != 10 || r.Bare != 2 {
			t.Errorf("round %d: %+v", round, r)
		}
		for id, want := range map[string]bool{kept: true, lifted: false, free: false} {
			if got := to.hasKey(id); got != want || !m.hasKey(id) {
				t.Errorf("round %d: key of %s: %v, want %v", round, id, got, want)
			}
			if _, is := to.last(events.KindEpisode, id).Events[0].(events.EpisodeForgotten); !is {
				t.Errorf("round %d: %s has no tombstone", round, id)
			}
		}
		for _, sid := range []string{hana, lev, maria, "absent"} {
			was, is := m.state(sid), to.state(sid)
			if diff := cmp.Diff(was.Holds, is.Holds); diff != "" {
				t.Errorf("round %d: holds: %s", round, diff)
			}
			if diff := cmp.Diff(was.Consents, is.Consents); diff != "" {
				t.Errorf("round %d: consents: %s", round, diff)
			}
		}
		if w, is := to.last(events.KindSubject, maria).Events[4].(events.ConsentWithdrawn); !is || w.Erasure != "z" {
			t.Errorf("round %d: a withdrawal has lost its erasure", round)
		}
		// What is there is not appended again.
		if _, r := to.restore(to.take(backup.KindData), to.take(backup.KindKeys), to.take(backup.KindLedger)); r.Changes != 0 || r.Appended != 0 || r.Held != 1 {
			t.Errorf("round %d: again: %+v", round, r)
		}
		ledgers = to.take(backup.KindLedger)
	}
}

// TestApplyHoldOfAnotherEpoch puts back data of an epoch that was given up before a
// hold that is in it: it holds in the next one, and in what is put back of that.
func TestApplyHoldOfAnotherEpoch(t *testing.T) {
	t.Parallel()
	m := fresh(t)
	id, hana := m.tell("hana", "one"), m.subject("hana")
	early, earlyKeys := m.take(backup.KindData), m.take(backup.KindKeys)
	m.changes(hana, events.SubjectHeld{Hold: "h"})
	late, lateKeys := m.take(backup.KindData), m.take(backup.KindKeys)
	next, r := m.restore(early, earlyKeys, m.take(backup.KindLedger))
	if r.Changes != 1 {
		t.Errorf("%+v", r)
	}
	next.forgotten(id, hana, "x")
	third, r := m.restore(late, lateKeys, next.take(backup.KindLedger))
	if r.Changes != 0 || r.Held != 1 {
		t.Errorf("it is in the data: %+v", r)
	}
	fourth, r := m.restore(early, earlyKeys, third.take(backup.KindLedger))
	if r.Changes != 1 || r.Held != 1 || !fourth.hasKey(id) {
		t.Errorf("of the data before it: %+v", r)
	}
}

// TestApplyErasedOfAnotherEpoch puts back data of an epoch that was given up, of which
// something was erased behind the position where it was: it is erased again, whether
// the data has it or has a hole there.
func TestApplyErasedOfAnotherEpoch(t *testing.T) {
	t.Parallel()
	m := fresh(t)
	m.tell("maria", "one")
	early, earlyKeys := m.take(backup.KindData), m.take(backup.KindKeys)
	cut := m.head()
	m.tell("maria", "two")
	gone := m.last(events.KindEpisode, m.tell("maria", "three")).Position
	m.tell("maria", "four")
	full, fullKeys := m.take(backup.KindData), m.take(backup.KindKeys)
	must(t, m.ledger.Checkpoint(t.Context()))
	must(t, m.ledger.Erased(t.Context(), ledger.Erased{Tenant: "acme", Erasure: "x", Positions: []uint64{gone}}))
	must(t, m.streams.Eraser().SecureDelete(t.Context(), gone))
	holed, holedKeys := m.take(backup.KindData), m.take(backup.KindKeys)
	next, _ := m.restore(early, earlyKeys, m.take(backup.KindLedger))
	next.tell("maria", "of the second epoch")
	if gone <= cut || next.ledger.IsErased(gone) {
		t.Fatal("control: the second epoch goes on before what was erased")
	}
	records := next.take(backup.KindLedger)
	for name, files := range map[string][2]string{"full": {full, fullKeys}, "with a hole": {holed, holedKeys}} {
		to, r := m.restore(files[0], files[1], records) // opens the ledger, which compares
		if _, err := to.streams.Log().MessageAt(t.Context(), gone); !errors.Is(err, events.ErrNoCommits) || r.Erased != 1 || !to.ledger.IsErased(gone) {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
	}
}
