package projectors

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/memlog"
)

// populate writes a small history with everything in it.
func populate(t fataler, w *world) {
	t.Helper()
	for i, subject := range []string{"anna", "ben", "cleo"} {
		a := w.capture(t, "acme", subject, "first")
		b := w.capture(t, "acme", subject, "second")
		p := w.proposal(t, "acme", subject, "city", "Berlin", day(i), a)
		w.promote(t, "acme", "city", p, since(day(i)))
		q := w.proposal(t, "acme", subject, "city", "Lisbon", day(i+5), a, b)
		w.promote(t, "acme", "city", q, since(day(i+5)),
			events.FactSuperseded{Fact: p.Fact, By: q.Fact, Valid: between(day(i), day(i+5))})
		w.append(t, "acme", events.KindTrace, events.SharedID,
			events.TraceRecalled{Trace: w.id("trace"), Subject: a.sid, Class: "c", Memories: []string{a.id}, Content: []byte("s")})
		w.forgetEpisode(t, a)
	}
}

// TestStartCheck holds that a view is not used with a log it was not built from, and that it is with its own.
func TestStartCheck(t *testing.T) {
	t.Parallel()
	build := func(t *testing.T) (*world, *vfs.MemFS) {
		t.Helper()
		w, fs := newWorld(t), vfs.NewMem()
		populate(t, w)
		v := start(t, w.config(fs))
		v.waitFor(t, w.head)
		v.close(t)
		return w, fs
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, w *world, cfg *Config)
		gen    uint64
	}{
		"same log": {change: func(*testing.T, *world, *Config) {}, gen: 1},
		"message removed": {change: func(t *testing.T, w *world, _ *Config) {
			if err := w.log.SecureDelete(t.Context(), w.head); err != nil {
				t.Fatal(err)
			}
		}, gen: 1},
		"another log": {change: func(t *testing.T, w *world, cfg *Config) {
			w.log, w.last = memlog.New("log-b", w.tick), map[events.Aggregate]uint64{}
			populate(t, w)
			cfg.Log = w.log
		}, gen: 2},
		"shorter log": {change: func(t *testing.T, w *world, cfg *Config) {
			w.log, w.last = memlog.New("log-a", w.tick), map[events.Aggregate]uint64{}
			w.capture(t, "acme", "anna", "only")
			cfg.Log = w.log
		}, gen: 2},
		"another commit": {change: func(t *testing.T, w *world, cfg *Config) {
			w.log, w.last = memlog.New("log-a", w.tick), map[events.Aggregate]uint64{}
			populate(t, w)
			populate(t, w)
			cfg.Log = w.log
		}, gen: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, fs := build(t)
			cfg := w.config(fs)
			c.change(t, w, &cfg)
			cfg.Log = w.log
			v := start(t, cfg)
			defer v.close(t)
			if name != "message removed" {
				v.waitFor(t, w.head)
				checkViews(t, v.Views, w.model(t, w.head))
			}
			for _, st := range v.Status(t.Context()) {
				if st.Generation != c.gen {
					t.Errorf("%s is generation %d, want %d", st.Projection, st.Generation, c.gen)
				}
			}
		})
	}
}

// TestReplayUnderReaders replays all views again and again while the log grows and readers read, and holds that readers
// never see a position go back, and that the views are right in the end.
func TestReplayUnderReaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	populate(t, w)
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	first := w.head
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for range 300 {
			select {
			case <-done:
				return
			default:
			}
			s, err := v.Snapshot(context.Background())
			if err != nil {
				t.Errorf("snapshot: %v", err)
				return
			}
			if s.Position() < first {
				t.Errorf("position %d below %d", s.Position(), first)
			}
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	})
	group.Go(func() {
		for range 10 {
			populate(t, w)
		}
	})
	for range 2 {
		for _, name := range []string{Facts, Memories, Traces} {
			seen := 0
			res, err := v.Replay(t.Context(), name, func(Progress) { seen++ })
			if err != nil || res.Old != res.New || res.Events < first || seen == 0 {
				t.Errorf("replay %s: %+v %v", name, res, err)
			}
		}
	}
	close(done)
	group.Wait()
	v.waitFor(t, w.head)
	checkViews(t, v.Views, w.model(t, w.head))
	if st := statusOf(t, v.Views, Facts); st.Generation != 3 {
		t.Errorf("generation %d", st.Generation)
	}
	names, err := v.cfg.FS.List("views/facts")
	if err != nil || len(names) != 2 {
		t.Errorf("left in the folder: %v %v", names, err)
	}
}

// TestDamagedRowsAreFound holds that verify tells a changed, a missing and an added row, and that a replay does not take over
// from a view that differs. R-45.
func TestDamagedRowsAreFound(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(db *pebble.DB, key, value []byte) error{
		"changed": func(db *pebble.DB, key, value []byte) error {
			value[len(value)-2] ^= 1
			return db.Set(key, value, pebble.NoSync)
		},
		"missing": func(db *pebble.DB, key, _ []byte) error { return db.Delete(key, pebble.NoSync) },
		"added":   func(db *pebble.DB, key, value []byte) error { return db.Set(append(key, 0), value, pebble.NoSync) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			populate(t, w)
			v := start(t, w.config(vfs.NewMem()))
			defer v.close(t)
			v.waitFor(t, w.head)
			if res, err := v.Verify(t.Context(), Traces, nil); err != nil || !res.OK || res.Differing != 0 {
				t.Fatalf("before: %+v %v", res, err)
			}
			l, err := v.lane(Traces)
			if err != nil {
				t.Fatal(err)
			}
			var k, val []byte
			if err := scan(l.serving.db, []byte{sortTrace}, nil, func(key, value []byte) (bool, error) {
				k, val = append(k, key...), append(val, value...)
				return false, nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := damage(l.serving.db, k, val); err != nil {
				t.Fatal(err)
			}
			res, err := v.Verify(t.Context(), Traces, nil)
			if err != nil || res.OK || res.Differing != 1 || res.Kept != res.Fresh || res.Stored == res.Fresh {
				t.Errorf("after: %+v %v", res, err)
			}
		})
	}
}

// TestReplayRefusesDifference holds that a rebuilt view with another digest does not take over.
func TestReplayRefusesDifference(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	populate(t, w)
	v := start(t, w.config(vfs.NewMem()))
	v.waitFor(t, w.head)
	v.stop(t)
	l, err := v.lane(Traces)
	if err != nil {
		t.Fatal(err)
	}
	l.engine.state.digest[0]++
	if err := l.engine.commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Replay(t.Context(), Traces, nil); !errors.Is(err, ErrDigest) {
		t.Errorf("replay: %v", err)
	}
	if st := statusOf(t, v.Views, Traces); st.Generation != 1 {
		t.Errorf("generation %d took over", st.Generation)
	}
	if _, err := v.Replay(t.Context(), Facts, nil); err != nil {
		t.Errorf("a neighbour: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLeftoversAreSwept holds that what a crash left is removed at open, and a CURRENT that names nothing begins anew.
func TestLeftoversAreSwept(t *testing.T) {
	t.Parallel()
	w, fs := newWorld(t), vfs.NewMem()
	populate(t, w)
	v := start(t, w.config(fs))
	v.waitFor(t, w.head)
	v.close(t)
	for _, dir := range []string{"views/facts/gen-000009", "views/facts/scratch"} {
		if err := fs.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeFile(fs, "views/facts/CURRENT.tmp", "gen-0"); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(fs, "views/traces/CURRENT", "gen-7"); err != nil {
		t.Fatal(err)
	}
	v = start(t, w.config(fs))
	defer v.close(t)
	v.waitFor(t, w.head)
	checkViews(t, v.Views, w.model(t, w.head))
	names, err := fs.List("views/facts")
	if got := strings.Join(names, " "); err != nil || len(names) != 2 {
		t.Errorf("left: %s %v", got, err)
	}
}

// TestCrashAtEveryStep takes a clone of the file system after many steps of a history with flushes and replays in it, and
// holds that each opens as exactly the fold up to the position it says.
func TestCrashAtEveryStep(t *testing.T) {
	t.Parallel()
	w, fs := newWorld(t), vfs.NewCrashableMem()
	v := start(t, w.config(fs))
	defer func() { v.close(t) }()
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range 6 {
		populate(t, w)
		if i%4 == 3 {
			w.forgetSubject(t, "acme", "ben")
			w.dead[w.sid(t, "acme", "ben")] = true
		}
		if i%3 == 0 {
			v.waitFor(t, w.head)
		}
		if i%4 == 1 {
			for _, l := range v.lanes {
				if err := l.save(0); err != nil {
					t.Fatal(err)
				}
			}
		}
		if i == 4 {
			v.waitFor(t, w.head)
			if _, err := v.Replay(t.Context(), Facts, nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, percent := range []int{0, 60} {
			clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
			crashed, err := Open(t.Context(), w.config(clone))
			if err != nil {
				t.Fatalf("open after crash: %v", err)
			}
			checkEachView(t, w, crashed)
			r := follow(crashed)
			r.waitFor(t, w.head)
			checkViews(t, crashed, w.model(t, w.head))
			r.close(t)
		}
	}
}

// checkEachView holds the record rows of each view against the model at that view's own position.
func checkEachView(t fataler, w *world, v *Views) {
	t.Helper()
	clearAll(t, v)
	s := snapshot(t, v)
	defer closeSnapshot(t, s)
	got := viewDump(t, s)
	for _, st := range v.Status(context.Background()) {
		want := modelDump(w.model(t, st.Position))
		of := map[string][]string{Facts: {"fact ", "tomb ", "hold "}, Memories: {"episode "}, Traces: {"trace "}}[st.Projection]
		if diff := dumpDiff(only(want, of), only(got, of)); diff != "" {
			t.Fatalf("%s at %d differs:\n%s", st.Projection, st.Position, diff)
		}
	}
}

func only(d dump, prefixes []string) dump {
	out := dump{}
	for k, v := range d {
		for _, p := range prefixes {
			if strings.HasPrefix(k, p) {
				out[k] = v
			}
		}
	}
	return out
}

// TestReplayEndsUnderWrites holds that a new generation gives up running after one that never stands still: each of its chunks
// here is answered with more messages than it may be behind.
func TestReplayEndsUnderWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v, err := Open(t.Context(), w.config(vfs.NewMem()))
	if err != nil {
		t.Fatal(err)
	}
	l, err := v.lane(Traces)
	if err != nil {
		t.Fatal(err)
	}
	from, err := l.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write := func() {
		for range closeEnough + 1 {
			w.append(t, "acme", events.KindTrace, events.SharedID, events.TraceRecalled{Trace: w.id("trace"), Class: "c"})
		}
		chunks := make(chan chunk, closeEnough+1)
		if err := read(t.Context(), l.cfg, l.spec.itself, from, w.head, chunks); err != nil {
			t.Error(err)
		}
		close(chunks)
		for c := range chunks {
			if err := l.fold(t.Context(), &c); err != nil {
				t.Error(err)
			}
		}
		from = w.head
	}
	write()
	g, err := l.generation(2, l.spec)
	if err != nil {
		t.Fatal(err)
	}
	const most = 4 * maxRounds
	seen := 0
	b, err := l.builder(t.Context(), g, l.engine.state.identity, func(Progress) {
		if seen++; seen < most {
			write()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.approach(t.Context()); err != nil || seen >= most {
		t.Errorf("%d chunks: %v", seen, err)
	}
	seen = most // the serving view is held from here on
	res, err := l.handOver(t.Context(), b)
	if err != nil || res.Old != res.New || res.Position != w.head {
		t.Errorf("hand over: %+v %v", res, err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
}
