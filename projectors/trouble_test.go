package projectors

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors/index"
)

// TestRetryThatFailsStopsNothing holds that a retry whose caller gave up leaves a view that goes on following the log.
func TestRetryThatFailsStopsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e, bad := w.episode(t, "acme", "anna", "episode-x", "secret")
	e.Content[len(e.Content)-1] ^= 1
	w.append(t, "acme", events.KindEpisode, bad.id, e)
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	if st := statusOf(t, v.Views, Memories); st.Parked != 1 {
		t.Fatalf("parked %d", st.Parked)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.RetryParked(gone, Memories); !errors.Is(err, context.Canceled) {
		t.Fatalf("retry of a caller who gave up: %v", err)
	}
	after := w.capture(t, "acme", "anna", "after")
	v.waitFor(t, w.head)
	with(t, v.Views, func(s *Snapshot) {
		if _, err := s.Episode(w.tenant(t, "acme").Token(), after.id); err != nil {
			t.Errorf("what came after: %v", err)
		}
	})
	if st := statusOf(t, v.Views, Memories); st.Parked != 1 {
		t.Errorf("parked %d", st.Parked)
	}
}

// stubborn is a file system on which no folder of a generation can be removed.
type stubborn struct{ vfs.FS }

var errStubborn = errors.New("cannot be removed")

func (s stubborn) RemoveAll(name string) error {
	if strings.Contains(name, genPrefix) {
		return errStubborn
	}
	return s.FS.RemoveAll(name)
}

// TestOldGenerationCannotBeRemoved holds that what is left of an old generation does not stop the new one, and is swept at
// the next opening.
func TestOldGenerationCannotBeRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.capture(t, "acme", "anna", "before")
	fs := vfs.NewMem()
	v := start(t, w.config(stubborn{fs}))
	v.waitFor(t, w.head)
	if _, err := v.Replay(t.Context(), Memories, nil); err != nil {
		t.Fatalf("replay: %v", err)
	}
	after := w.capture(t, "acme", "anna", "after")
	v.waitFor(t, w.head)
	with(t, v.Views, func(s *Snapshot) {
		if _, err := s.Episode(w.tenant(t, "acme").Token(), after.id); err != nil {
			t.Errorf("what came after: %v", err)
		}
	})
	v.close(t)
	if names, err := fs.List("views/" + Memories); err != nil || len(names) != 3 {
		t.Fatalf("the old generation was removed, which was to fail: %v %v", names, err)
	}
	start(t, w.config(fs)).close(t)
	if names, err := fs.List("views/" + Memories); err != nil || len(names) != 2 {
		t.Errorf("left over: %v %v", names, err)
	}
}

// TestClosedViews holds that all that is asked of closed views is refused, and nothing panics.
func TestClosedViews(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.capture(t, "acme", "anna", "before")
	v := start(t, w.config(vfs.NewMem()))
	v.waitFor(t, w.head)
	v.close(t)
	for name, call := range map[string]func() error{
		"replay":   func() error { _, err := v.Replay(t.Context(), Facts, nil); return err },
		"verify":   func() error { _, err := v.Verify(t.Context(), Facts, nil); return err },
		"retry":    func() error { _, err := v.RetryParked(t.Context(), Facts); return err },
		"snapshot": func() error { _, err := v.Snapshot(t.Context()); return err },
		"run":      func() error { return v.Run(t.Context()) },
	} {
		if err := call(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnopenedIsCountedOnce holds that two events of one commit about a record whose key is gone count one record, so that
// its tombstone makes the view healthy again.
func TestUnopenedIsCountedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.capture(t, "acme", "anna", "gone")
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	if err := w.keys.DestroyRecord(t.Context(), w.tenant(t, "acme").Token(), c.id); err != nil {
		t.Fatal(err)
	}
	vector := events.VectorEmbedded{
		Record: c.id, Subject: c.sid, Class: c.class, Of: events.KindEpisode, Source: 1, Model: testModel, Dim: 8,
		Content: []byte("sealed under a key that is gone"),
	}
	w.append(t, "acme", events.KindVector, events.SharedID, vector, vector)
	v.waitFor(t, w.head)
	if st := statusOf(t, v.Views, Memories); st.Unopened != 1 || st.Parked != 0 {
		t.Errorf("without a tombstone: %+v", st)
	}
	w.forgetEpisode(t, c)
	v.waitFor(t, w.head)
	if st := statusOf(t, v.Views, Memories); st.Unopened != 0 || !st.Healthy {
		t.Errorf("with a tombstone: %+v", st)
	}
}

// TestVectorOfParkedEpisode holds that an episode that was parked when its vector came is found by meaning after a retry.
func TestVectorOfParkedEpisode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.capture(t, "acme", "anna", "parked")
	badAt := w.head
	w.embed(t, "acme", c.sid, c.class, c.id, events.KindEpisode, unit(1, 8))
	other := w.capture(t, "acme", "anna", "neighbour")
	w.embed(t, "acme", other.sid, other.class, other.id, events.KindEpisode, unit(2, 8))
	fs := vfs.NewMem()
	cfg := w.config(fs)
	cfg.Log = damagedLog{Follower: w.log, damage: func(m *events.Message) {
		if m.Position == badAt {
			m.Data = nil
		}
	}}
	dense := func(v *running, want, missing int) {
		t.Helper()
		with(t, v.Views, func(s *Snapshot) {
			found, err := s.Candidates(t.Context(), index.Query{
				Filter: index.Filter{Tenant: w.tenant(t, "acme").Token()}, Vector: unit(1, 8), Model: testModel, K: 3,
			})
			if err != nil || len(found.Dense) != want || found.VectorsMissing != missing {
				t.Errorf("dense %d, missing %d: %v", len(found.Dense), found.VectorsMissing, err)
			}
		})
	}
	v := start(t, cfg)
	v.waitFor(t, w.head)
	dense(v, 1, 0)
	v.close(t)

	v = start(t, w.config(fs)) // the log is repaired
	defer v.close(t)
	if res, err := v.RetryParked(t.Context(), Memories); err != nil || res.Folded != 1 {
		t.Fatalf("retry: %+v %v", res, err)
	}
	dense(v, 2, 0)
	w.forgetEpisode(t, c)
	v.waitFor(t, w.head)
	dense(v, 1, 0)
	with(t, v.Views, func(s *Snapshot) {
		left, err := has(s.memories, newKey(sortVector).part(w.tenant(t, "acme").Token()).part(c.sid).part(c.id).part(testModel))
		if err != nil || left {
			t.Errorf("a vector is left: %v %v", left, err)
		}
	})
}

// TestForeignTombstoneBehindParked holds that a tombstone that cannot be folded parks too where it would go before what is
// parked, and ends nothing.
func TestForeignTombstoneBehindParked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	src := w.capture(t, "acme", "anna", "source")
	kept := w.proposal(t, "acme", "anna", "city", "Berlin", day(1), src)
	w.promote(t, "acme", "city", kept, since(day(1)))
	bad := w.proposal(t, "acme", "anna", "city", "Rome", day(5), src)
	badAt := w.promote(t, "acme", "city", bad, since(day(5)))
	w.append(t, "acme", events.KindFact, w.slot(t, "acme", kept.Subject, "city"),
		events.FactForgotten{Fact: kept.Fact, Subject: w.sid(t, "acme", "ben"), Erasure: "erasure-1"})
	after := w.capture(t, "acme", "anna", "after")
	cfg := w.config(vfs.NewMem())
	cfg.Log = damagedLog{Follower: w.log, damage: func(m *events.Message) {
		if m.Position == badAt {
			m.Data = nil
		}
	}}
	v := start(t, cfg)
	defer v.close(t)
	v.waitFor(t, w.head)
	for _, name := range []string{Facts, Memories} {
		if st := statusOf(t, v.Views, name); st.Parked != 2 {
			t.Errorf("%s: parked %d", name, st.Parked)
		}
	}
	with(t, v.Views, func(s *Snapshot) {
		tenant := w.tenant(t, "acme").Token()
		if row, err := s.Fact(tenant, kept.Fact); err != nil || row.Status != events.StatusActive {
			t.Errorf("ended by a tombstone of another subject: %v %v", row.Status, err)
		}
		if _, err := s.Episode(tenant, after.id); err != nil {
			t.Errorf("what came after: %v", err)
		}
	})
}

// TestDamagedFiles holds that no byte of a view is trusted: verify reads all of them, and a file that cannot be opened
// costs the view, which is built again, and not the start.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(b []byte) []byte{
		"cut in half": func(b []byte) []byte { return b[:len(b)/2] },
		"a byte of the middle": func(b []byte) []byte {
			b[len(b)/2] ^= 1
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			populate(t, w)
			fs := vfs.NewMem()
			cfg := w.config(fs)
			v := start(t, cfg)
			v.waitFor(t, w.head)
			v.close(t)
			table := largestTable(t, fs, fs.PathJoin(cfg.Dir, Memories))
			f, err := fs.Open(table)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(f)
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			out, err := fs.Create(table, vfs.WriteCategoryUnspecified)
			if err != nil {
				t.Fatal(err)
			}
			_, err = out.Write(damage(b))
			if err := errors.Join(err, out.Close()); err != nil {
				t.Fatal(err)
			}
			v = start(t, cfg)
			defer v.close(t)
			v.waitFor(t, w.head)
			res, err := v.Verify(t.Context(), Memories, nil)
			l, laneErr := v.lane(Memories)
			if laneErr != nil {
				t.Fatal(laneErr)
			}
			rebuilt := l.serving.num
			if seen := err != nil || !res.OK; seen == (rebuilt > 1) {
				t.Errorf("damage seen by verify: %v; generation %d; %+v %v", seen, rebuilt, res, err)
			}
			if _, err := v.Replay(t.Context(), Memories, nil); rebuilt == 1 && err == nil {
				if res, err := v.Verify(t.Context(), Memories, nil); err != nil || !res.OK {
					t.Errorf("after a replay: %+v %v", res, err)
				}
			}
		})
	}
}

// largestTable is the largest table of a view.
func largestTable(t *testing.T, fs vfs.FS, dir string) string {
	t.Helper()
	var table string
	var size int64
	gens, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, gen := range gens {
		files, err := fs.List(fs.PathJoin(dir, gen))
		if err != nil {
			continue // CURRENT is no folder
		}
		for _, file := range files {
			path := fs.PathJoin(dir, gen, file)
			info, err := fs.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, ".sst") && info.Size() > size {
				table, size = path, info.Size()
			}
		}
	}
	if table == "" {
		t.Fatal("the view has no table")
	}
	return table
}
