package projectors

import (
	"context"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
)

// foldOnly folds the log into a view and clears nothing.
func foldOnly(t fataler, w *world, l *lane, batches uint64) {
	t.Helper()
	if l.position() >= w.head {
		return
	}
	cfg := *l.cfg
	cfg.Log = batching{Follower: w.log, seed: batches}
	chunks := make(chan chunk, w.head+1)
	if err := read(context.Background(), &cfg, l.spec.itself, l.position(), w.head, chunks); err != nil {
		t.Fatalf("read: %v", err)
	}
	close(chunks)
	for c := range chunks {
		if err := l.fold(context.Background(), &c); err != nil {
			t.Fatalf("fold: %v", err)
		}
	}
}

func openViews(t fataler, cfg Config) *Views {
	t.Helper()
	v, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return v
}

func closeViews(t fataler, v *Views) {
	t.Helper()
	if err := v.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// TestDeniedBeforeCleared holds that a subject is denied to readers, with what others have from it alone, before any of its
// rows is cleared, and that what comes behind its tombstone is folded before.
func TestDeniedBeforeCleared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	src := w.capture(t, "acme", "anna", "source")
	for i := range 3 * page {
		w.capture(t, "acme", "anna", "episode "+strconv.Itoa(i))
	}
	p := w.proposal(t, "acme", "ben", "city", "Berlin", day(1), src)
	w.promote(t, "acme", "city", p, since(day(1)))
	own := w.proposal(t, "acme", "anna", "city", "Bonn", day(1), src)
	w.promote(t, "acme", "city", own, since(day(1)))
	kept := w.capture(t, "acme", "ben", "oboe")
	w.forgetSubject(t, "acme", "anna")
	later := w.capture(t, "acme", "ben", "bassoon")
	fs := vfs.NewMem()
	v := openViews(t, w.config(fs))
	for _, l := range v.lanes {
		foldOnly(t, w, l, 1)
	}
	tenant := w.tenant(t, "acme").Token()
	denied := func(v *Views) {
		t.Helper()
		for _, l := range v.lanes {
			if n := len(l.engine.clearings); n != 1 {
				t.Fatalf("control: %s has %d subjects to clear", l.spec.name, n)
			}
		}
		with(t, v, func(s *Snapshot) {
			if !s.SubjectForgotten(tenant, src.sid) {
				t.Error("a reader sees the subject")
			}
			if e, f := s.SubjectCounts(tenant, src.sid); e != 0 || f != 0 {
				t.Errorf("a reader counts %d episodes and %d facts", e, f)
			}
			for id, is := range map[string]func(string, string) (string, error){src.id: s.Owner, own.Fact: s.Owner} {
				if sid, err := is(tenant, id); err != nil || sid != "" {
					t.Errorf("a reader sees whose a record was: %v", err)
				}
			}
			if row, err := s.Fact(tenant, p.Fact); err != nil || row.Status != events.StatusDeleted {
				t.Errorf("a reader sees what was taken from it: %v", err)
			}
			for _, c := range []captured{kept, later} {
				if row, err := s.Episode(tenant, c.id); err != nil || row.Forgotten {
					t.Errorf("control: a neighbour: %v", err)
				}
			}
		})
	}
	denied(v)
	live := digests(v)
	closeViews(t, v)
	v = openViews(t, w.config(fs))
	denied(v)
	n := 0
	for l, err := range v.Leftovers(t.Context(), tenant) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Subject == src.sid {
			n++
		}
	}
	if want := 1 + 3*page; n < want {
		t.Errorf("%d messages are left over, want %d", n, want)
	}
	clearAll(t, v)
	checkViews(t, v, w.model(t, w.head))
	if got := digests(v); got != live {
		t.Errorf("digests differ before and after:\n%s%s", live, got)
	}
	closeViews(t, v)
}

// TestPurgeClearsFirst holds that a purge does not come before the rows of a forgotten subject are cleared.
func TestPurgeClearsFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 20 {
		w.capture(t, "acme", "ben", "text")
	}
	gone, e := plant(t, w, "anna")
	v := openViews(t, w.config(vfs.NewMem()))
	for _, l := range v.lanes {
		foldOnly(t, w, l, 1)
	}
	w.append(t, "acme", events.KindSubject, e.sid, events.SubjectForgotten{Erasure: "erasure-1"})
	settleDown(t, v)
	for _, l := range v.lanes {
		foldOnly(t, w, l, 1)
	}
	for i, n := range gone.onDisk(t, v) {
		if n == 0 {
			t.Errorf("control: canary %d is not on disk", i)
		}
	}
	if err := v.Purge(t.Context()); err != nil {
		t.Fatalf("purge: %v", err)
	}
	if n := gone.onDisk(t, v); n != [3]int{} {
		t.Errorf("files with what is forgotten: %v", n)
	}
	closeViews(t, v)
}

// TestClearingLate holds that it makes no difference when the rows of forgotten subjects are cleared: nothing that is folded
// before differs from what is folded after, and neither do digests or leftovers.
func TestClearingLate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		h := &history{T: t, w: w}
		fs := vfs.NewMem()
		v := openViews(t, w.config(fs))
		defer func() { closeViews(t, v) }() // also where rapid gives a draw up
		for range rapid.IntRange(1, 40).Draw(t, "ops") {
			h.op()
			if rapid.IntRange(0, 6).Draw(t, "forgets") == 0 {
				subject := h.subject()
				w.forgetSubject(t, "acme", subject)
				w.dead[w.sid(t, "acme", subject)] = true
			}
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0:
				closeViews(t, v)
				v = openViews(t, w.config(fs))
			case 1, 2, 3:
				for _, l := range v.lanes {
					foldOnly(t, w, l, rapid.Uint64().Draw(t, "batching"))
				}
			case 4:
				l := rapid.SampledFrom(v.lanes).Draw(t, "view")
				if _, err := l.clearSome(context.Background()); err != nil {
					t.Fatalf("clear: %v", err)
				}
			}
		}
		for _, l := range v.lanes {
			foldOnly(t, w, l, 1)
		}
		m := w.model(t, w.head)
		late := digests(v)
		early := start(t, w.config(vfs.NewMem()))
		defer early.close(t)
		early.waitFor(t, w.head)
		if got := digests(early.Views); got != late {
			t.Fatalf("digests differ: late\n%searly\n%s", late, got)
		}
		name := rapid.SampledFrom([]string{Facts, Memories, Traces}).Draw(t, "verified")
		if rapid.Bool().Draw(t, "replayed") {
			if _, err := v.Replay(context.Background(), name, nil); err != nil {
				t.Fatalf("replay %s: %v", name, err)
			}
		} else if res, err := v.Verify(context.Background(), name, nil); err != nil || !res.OK {
			t.Fatalf("verify %s: %v %+v", name, err, res)
		}
		clearAll(t, v)
		checkViews(t, v, m)
		if got := digests(v); got != late {
			t.Fatalf("digests differ: before\n%safter\n%s", late, got)
		}
		if diff := gocmp.Diff(leftoversIn(t, early.Views), leftoversIn(t, v)); diff != "" {
			t.Fatalf("leftovers differ (-early +late):\n%s", diff)
		}
	})
}
