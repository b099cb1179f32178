package projectors

import (
	"context"
	"iter"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/events"
)

// damaged is a log some of whose messages are read otherwise than they were written.
type damagedLog struct {
	events.Follower
	damage func(m *events.Message)
}

func (d damagedLog) Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for m, err := range d.Follower.Follow(ctx, after) {
			d.damage(&m)
			if !yield(m, err) {
				return
			}
		}
	}
}

func (d damagedLog) MessageAt(ctx context.Context, p uint64) (events.Message, error) {
	m, err := d.Follower.MessageAt(ctx, p)
	d.damage(&m)
	return m, err
}

func statusOf(t fataler, v *Views, name string) Status {
	t.Helper()
	for _, st := range v.Status(context.Background()) {
		if st.Projection == name {
			return st
		}
	}
	t.Fatalf("no status of %s", name)
	return Status{}
}

// TestPoisonParksItsAggregateOnly holds the one error policy: what cannot be decoded, and what follows it on its aggregate,
// waits; neighbours go on; a retry after the repair gives the view that was never damaged. R-45.
func TestPoisonParksItsAggregateOnly(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(m *events.Message){
		"cut off":      func(m *events.Message) { m.Data = m.Data[:len(m.Data)/2] },
		"empty":        func(m *events.Message) { m.Data = nil },
		"new type":     func(m *events.Message) { m.Header.Types = []string{"annals.fact.invented.v1"} },
		"new version":  func(m *events.Message) { m.Header.Types = []string{"annals.fact.proposed.v9"} },
		"no header":    func(m *events.Message) { m.Header.Types = nil },
		"swapped type": func(m *events.Message) { m.Header.Types[0] = events.TypeFactForgotten },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			src := w.capture(t, "acme", "anna", "source")
			bad := w.proposal(t, "acme", "anna", "city", "Berlin", day(1), src)
			badAt := w.promote(t, "acme", "city", bad, since(day(1)))
			good := w.proposal(t, "acme", "anna", "work", "baker", day(1), src)
			w.promote(t, "acme", "work", good, since(day(1)))
			behind := w.proposal(t, "acme", "anna", "city", "Lisbon", day(5), src)
			w.promote(t, "acme", "city", behind, since(day(5)))

			fs := vfs.NewMem()
			cfg := w.config(fs)
			cfg.Log = damagedLog{Follower: w.log, damage: func(m *events.Message) {
				if m.Position == badAt {
					damage(m)
				}
			}}
			v := start(t, cfg)
			v.waitFor(t, w.head)
			st := statusOf(t, v.Views, Facts)
			if st.Parked != 2 || st.Healthy {
				t.Fatalf("parked %d, healthy %v", st.Parked, st.Healthy)
			}
			with(t, v.Views, func(s *Snapshot) {
				tenant := w.tenant(t, "acme").Token()
				if _, err := s.Fact(tenant, good.Fact); err != nil {
					t.Errorf("neighbour: %v", err)
				}
				if _, err := s.Fact(tenant, behind.Fact); err == nil {
					t.Error("a commit passed the one before it")
				}
			})
			if res, err := v.Verify(t.Context(), Facts, nil); err != nil || !res.OK {
				t.Errorf("replay has another policy: %+v %v", res, err)
			}
			if res, err := v.RetryParked(t.Context(), Facts); err != nil || res.Folded != 0 || res.Parked != 2 {
				t.Errorf("retry of what is still damaged: %+v %v", res, err)
			}
			v.close(t)

			v = start(t, w.config(fs)) // the log is repaired
			defer v.close(t)
			for _, name := range []string{Facts, Memories} {
				if res, err := v.RetryParked(t.Context(), name); err != nil || res.Parked != 0 {
					t.Fatalf("retry: %+v %v", res, err)
				}
			}
			if res, err := v.RetryParked(t.Context(), Traces); err != nil || res.Parked != 0 {
				t.Fatalf("retry: %+v %v", res, err)
			}
			checkViews(t, v.Views, w.model(t, w.head))
			if st := statusOf(t, v.Views, Facts); !st.Healthy {
				t.Error("not healthy after the repair")
			}
			for _, name := range []string{Facts, Memories} {
				if res, err := v.Verify(t.Context(), name, nil); err != nil || !res.OK {
					t.Errorf("verify: %+v %v", res, err)
				}
			}
		})
	}
}

// TestTombstoneOfNobody holds that a tombstone that names no subject, of an episode that was dropped in quarantine, folds to
// nothing.
func TestTombstoneOfNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.capture(t, "acme", "anna", "stays")
	id := w.id("episode")
	w.append(t, "acme", events.KindEpisode, id, events.EpisodeDropped{Subject: c.sid})
	w.append(t, "acme", events.KindEpisode, id, events.EpisodeForgotten{Erasure: w.id("erasure")})
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	checkViews(t, v.Views, w.model(t, w.head))
	for _, name := range []string{Facts, Memories, Traces} {
		if st := statusOf(t, v.Views, name); st.Parked != 0 || !st.Healthy {
			t.Errorf("%s: parked %d, healthy %v", name, st.Parked, st.Healthy)
		}
	}
}

// TestTombstonesDoNotWait holds that a forget reaches what is parked, and what is on an aggregate with something parked.
func TestTombstonesDoNotWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	src := w.capture(t, "acme", "anna", "source")
	other := w.capture(t, "acme", "anna", "another")
	kept := w.proposal(t, "acme", "anna", "city", "Berlin", day(1), src, other)
	w.promote(t, "acme", "city", kept, since(day(1)))
	doomed := w.proposal(t, "acme", "anna", "city", "Lisbon", day(3), other)
	w.promote(t, "acme", "city", doomed, since(day(3)))
	bad := w.proposal(t, "acme", "anna", "city", "Rome", day(5), src)
	badAt := w.promote(t, "acme", "city", bad, since(day(5)))
	w.append(t, "acme", events.KindFact, w.slot(t, "acme", doomed.Subject, "city"),
		events.FactForgotten{Fact: doomed.Fact, Subject: doomed.Subject, Erasure: "erasure-1"},
		events.FactRetracted{Fact: kept.Fact, Valid: between(day(1), day(2))})

	cfg := w.config(vfs.NewMem())
	cfg.Log = damagedLog{Follower: w.log, damage: func(m *events.Message) {
		if m.Position == badAt {
			m.Data = nil
		}
	}}
	v := start(t, cfg)
	defer v.close(t)
	v.waitFor(t, w.head)
	with(t, v.Views, func(s *Snapshot) {
		tenant := w.tenant(t, "acme").Token()
		if row, err := s.Fact(tenant, doomed.Fact); err != nil || row.Status != events.StatusDeleted {
			t.Errorf("the tombstone waits: %v %v", row.Status, err)
		}
		if row, err := s.Fact(tenant, kept.Fact); err != nil || row.Status != events.StatusActive {
			t.Errorf("the retraction did not wait: %v %v", row.Status, err)
		}
	})
	if st := statusOf(t, v.Views, Facts); st.Parked != 2 {
		t.Errorf("parked %d", st.Parked)
	}
}

// TestDamagedContentParks holds that sealed bytes that do not open park, with a neighbour that opens, and that a damaged
// vector keeps nothing else from being folded.
func TestDamagedContentParks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e, c := w.episode(t, "acme", "anna", "episode-x", "secret")
	e.Content[len(e.Content)-1] ^= 1
	w.append(t, "acme", events.KindEpisode, c.id, e)
	good := w.capture(t, "acme", "anna", "plain")
	w.append(t, "acme", events.KindVector, events.SharedID, events.VectorEmbedded{
		Record: good.id, Subject: good.sid, Class: good.class, Of: events.KindEpisode, Model: testModel, Dim: 8, Content: []byte("junk"),
	})
	w.embed(t, "acme", good.sid, good.class, good.id, events.KindEpisode, unit(1, 8))
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	if st := statusOf(t, v.Views, Memories); st.Parked != 2 || st.Healthy {
		t.Errorf("parked %d, healthy %v", st.Parked, st.Healthy)
	}
	if st := statusOf(t, v.Views, Facts); st.Parked != 0 || !st.Healthy {
		t.Errorf("the facts opened something")
	}
	with(t, v.Views, func(s *Snapshot) {
		if _, err := s.Episode(w.tenant(t, "acme").Token(), good.id); err != nil {
			t.Errorf("neighbour: %v", err)
		}
	})
}

// TestDestroyedKey holds the three states of a record whose key is gone: erased with its tombstone, unopened until that is
// folded, and corruption if it never comes.
func TestDestroyedKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.capture(t, "acme", "anna", "gone")
	w.capture(t, "acme", "anna", "stays")
	if err := w.keys.DestroyRecord(t.Context(), w.tenant(t, "acme").Token(), c.id); err != nil {
		t.Fatal(err)
	}
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	if st := statusOf(t, v.Views, Memories); st.Unopened != 1 || st.Healthy || st.Parked != 0 {
		t.Errorf("without a tombstone: %+v", st)
	}
	w.forgetEpisode(t, c)
	v.waitFor(t, w.head)
	if st := statusOf(t, v.Views, Memories); st.Unopened != 0 || !st.Healthy {
		t.Errorf("with a tombstone: %+v", st)
	}
	checkViews(t, v.Views, w.model(t, w.head))
}
