package projectors

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/events"
)

// buryOnly applies the first batch of the fold of a subject's tombstone, and nothing after it, as a crash leaves it.
func buryOnly(t *testing.T, l *lane, r *events.Recorded, erasure string) {
	t.Helper()
	l.engine = nil // what it remembers is gone with the process
	e, err := newEngine(l.serving, nil)
	if err != nil {
		t.Fatal(err)
	}
	tenant, sid := r.Aggregate.Tenant, r.Aggregate.ID
	switch f := e.folder.(type) {
	case *facts:
		err = f.slots.bury(tenant, sid, kindSubject, sid, erasure, r)
	case *memories:
		err = f.slots.bury(tenant, sid, kindSubject, sid, erasure, r)
	default:
		_, err = e.bury(tenant, subjectTombKey(tenant, sid), erasure, r)
	}
	if err == nil {
		err = e.commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPurgeOfHalfForgotten holds that a purge between a crash in the midst of a tombstone's fold and its repetition does not
// take away the mark: what the repetition deletes leaves the disk with the next purge.
func TestPurgeOfHalfForgotten(t *testing.T) {
	t.Parallel()
	w, fs := newWorld(t), vfs.NewMem()
	for range 20 {
		w.capture(t, "acme", "ben", "text")
	}
	gone, e := plant(t, w, "anna")
	v := start(t, w.config(fs))
	v.waitFor(t, w.head)
	settleDown(t, v.Views)
	v.close(t)

	const erasure = "erasure-1"
	at := w.append(t, "acme", events.KindSubject, e.sid, events.SubjectForgotten{Erasure: erasure})
	m, err := w.log.MessageAt(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	tombstone := newItem(&m).rec
	views, err := Open(t.Context(), w.config(fs))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range views.lanes {
		buryOnly(t, l, &tombstone, erasure)
	}
	if err := views.Purge(t.Context()); err != nil {
		t.Fatalf("purge: %v", err)
	}
	for i, n := range gone.onDisk(t, views) {
		if n == 0 {
			t.Errorf("control: canary %d is not on disk", i)
		}
	}
	for _, l := range views.lanes {
		if marked, err := has(l.serving.db, unpurgedKey(tombstone.Aggregate.Tenant)); err != nil || !marked {
			t.Errorf("%s lost its mark to a purge that came too early: %v", l.spec.name, err)
		}
	}
	v = follow(views)
	defer v.close(t)
	v.waitFor(t, at)
	if err := v.Purge(t.Context()); err != nil {
		t.Fatalf("purge: %v", err)
	}
	if n := gone.onDisk(t, v.Views); n != [3]int{} {
		t.Errorf("files with what is forgotten: %v", n)
	}
	checkViews(t, v.Views, w.model(t, w.head))
}
