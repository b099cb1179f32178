package backup_test

import (
	"errors"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/tombstones/backup"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// told is a memory of which some is about to be forgotten.
type told struct {
	*memory

	gone, stays, held, erased string
	only, both                string
	holder                    string
}

func tell(t *testing.T) told {
	t.Helper()
	m := told{memory: fresh(t)}
	m.gone, m.stays = m.tell("maria", "one"), m.tell("maria", "two")
	m.held, m.erased = m.tell("hana", "three"), m.tell("maria", "four")
	m.only, m.both = m.fact("maria", "city", m.gone), m.fact("maria", "street", m.gone, m.stays)
	m.holder = m.subject("hana")
	agg := events.Aggregate{Tenant: m.tenant().Token(), Kind: events.KindSubject, ID: m.holder}
	at := m.last(events.KindSubject, m.holder).Position
	_, err := m.streams.Log().Append(t.Context(), events.Commit{
		ID: nodetest.NewID(), Aggregate: agg, Time: events.Micro(time.Now()), Events: []events.Event{events.SubjectHeld{Hold: "h"}},
	}, events.Expect(at))
	must(t, err)
	return m
}

// forgets writes into the ledger what forgets write there that came after.
func (m told) forgets() {
	m.t.Helper()
	tenant, head := m.tenant().Token(), m.head()
	must(m.t, m.ledger.Record(m.t.Context(), []ledger.Tombstone{
		{Tenant: tenant, Kind: events.KindEpisode, Aggregate: m.gone, Subject: m.subject("maria"), Erasure: "x", Position: head + 1},
		{Tenant: tenant, Kind: events.KindEpisode, Aggregate: m.held, Subject: m.holder, Erasure: "y", Position: head + 2},
		{Tenant: tenant, Kind: events.KindEpisode, Aggregate: "never-seen", Subject: m.holder, Erasure: "z", Position: head + 3},
		{Tenant: tenant, Kind: events.KindFact, Aggregate: "no-slot", Record: "no-fact", Erasure: "z", Position: head + 4},
	}))
	must(m.t, m.ledger.Checkpoint(m.t.Context()))
	must(m.t, m.ledger.Erased(m.t.Context(), ledger.Erased{Tenant: tenant, Erasure: "w", Positions: []uint64{m.last(events.KindEpisode, m.erased).Position}}))
}

// TestApply applies a ledger to a log that has nothing of what it says.
func TestApply(t *testing.T) {
	t.Parallel()
	m := tell(t)
	data, keys := m.take(backup.KindData), m.take(backup.KindKeys)
	position := m.last(events.KindEpisode, m.erased).Position
	m.forgets()
	m.tell("maria", "lost")
	to, r := m.restore(data, keys, m.take(backup.KindLedger))
	if r.Tombstones != 4 || r.Appended != 4 || r.Cascaded != 1 || r.Held != 2 || r.Erased != 1 || r.Lost != 1 || r.Epoch != 1 {
		t.Errorf("%+v", r)
	}
	for id, want := range map[string]bool{m.gone: false, m.only: false, m.stays: true, m.both: true, m.held: true} {
		if !m.hasKey(id) {
			t.Fatal("control: it had no key before")
		}
		if got := to.hasKey(id); got != want {
			t.Errorf("key of %s: %v, want %v", id, got, want)
		}
	}
	for _, id := range []string{m.gone, m.held, "never-seen"} {
		if _, is := to.last(events.KindEpisode, id).Events[0].(events.EpisodeForgotten); !is {
			t.Errorf("%s has no tombstone", id)
		}
	}
	facts := to.slots()
	if f := facts[m.only]; f.Status != events.StatusDeleted || f.Erasure != "x" {
		t.Errorf("the fact that had no other source: %+v", f)
	}
	if f := facts[m.both]; f.Status != events.StatusActive || len(f.Sources) != 1 || f.Sources[0].Episode != m.stays {
		t.Errorf("the fact that had another source: %+v", f)
	}
	if _, err := m.streams.Log().MessageAt(t.Context(), position); err != nil {
		t.Fatalf("control: the data had it: %v", err)
	}
	if _, err := to.streams.Log().MessageAt(t.Context(), position); !errors.Is(err, events.ErrNoCommits) {
		t.Errorf("what was erased is there: %v", err)
	}
	// All of it is in the ledger once more, for the next restore of the next epoch.
	_, r = to.restore(to.take(backup.KindData), to.take(backup.KindKeys), to.take(backup.KindLedger))
	if r.Tombstones != 5 || r.Appended != 0 || r.Cascaded != 0 || r.Lost != 0 || r.Epoch != 2 {
		t.Errorf("again: %+v", r)
	}
}

// TestApplyToAnotherEpoch puts back data of an epoch that was given up behind a
// position, under a ledger of the next one. What the two have in common is kept;
// what the next one has erased behind it was another message.
func TestApplyToAnotherEpoch(t *testing.T) {
	t.Parallel()
	m := tell(t)
	early, earlyKeys := m.take(backup.KindData), m.take(backup.KindKeys)
	cut := m.head()
	late := m.tell("maria", "of the first epoch")
	m.tell("maria", "of the first epoch too")
	data, keys := m.take(backup.KindData), m.take(backup.KindKeys)
	next, _ := m.restore(early, earlyKeys, m.take(backup.KindLedger))
	next.tell("maria", "of the second epoch")
	next.tell("maria", "of the second epoch too")
	known := next.head()
	must(t, next.ledger.Checkpoint(t.Context()))
	must(t, next.ledger.Erased(t.Context(), ledger.Erased{Tenant: "acme", Erasure: "v", Positions: []uint64{cut + 1}}))
	must(t, next.ledger.Record(t.Context(), []ledger.Tombstone{
		{Tenant: m.tenant().Token(), Kind: events.KindEpisode, Aggregate: m.gone, Subject: m.subject("maria"), Erasure: "x", Position: known + 1},
	}))
	to, r := m.restore(data, keys, next.take(backup.KindLedger))
	if r.Epoch != 2 || r.Restored != cut+2 || r.LostFrom != cut+1 || r.LostTo != known || r.Erased != 0 || r.Appended != 1 {
		t.Errorf("cut at %d, known to %d: %+v", cut, known, r)
	}
	if got := to.last(events.KindEpisode, late).Position; got != cut+1 || !to.hasKey(late) || to.hasKey(m.gone) {
		t.Errorf("the first message that was given up is at %d, want %d", got, cut+1)
	}
	// Keys of one epoch do not go with data of another.
	_, err := backup.NewPlan(backup.Inputs{Data: early, Keys: next.take(backup.KindKeys), Ledger: next.take(backup.KindLedger)})
	if !errors.Is(err, backup.ErrMixed) {
		t.Errorf("keys of another epoch: %v", err)
	}
	// A ledger of the first epoch is stale once there is data of the second.
	_, err = backup.NewPlan(backup.Inputs{Data: next.take(backup.KindData), Keys: next.take(backup.KindKeys), Ledger: m.take(backup.KindLedger)})
	if !errors.Is(err, ledger.ErrStale) {
		t.Errorf("a ledger of an earlier epoch: %v", err)
	}
}

// TestApplyToNothing puts back a memory that was never used.
func TestApplyToNothing(t *testing.T) {
	t.Parallel()
	m := fresh(t)
	to, r := m.restore(m.take(backup.KindData), m.take(backup.KindKeys), m.take(backup.KindLedger))
	if r.Restored != 0 || r.Lost != 0 || to.head() != 0 {
		t.Errorf("%+v", r)
	}
}
