package seal_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/annals-memory/annals/events/seal"
)

// Many subjects are rotated with one reading of the rows, and what was created
// meanwhile opens after the former keys are gone, without a wait for any cache.
func TestRotateSubjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	token := w.scope.Tenant
	var sids []string
	var kept []seal.Item
	for i := range 5 {
		sid := mustSubject(t, w.tenant, fmt.Sprint("subject ", i))
		sids = append(sids, sid)
		for j := range 3 {
			kept = append(kept, put(t, w.ring, w.tenant.Scope(sid, "health"), fmt.Sprintf("r-%d-%d", i, j), "text"))
		}
	}
	classes := func() map[string][]byte {
		rows := make(map[string][]byte)
		for row, err := range w.rows.List(t.Context(), "k2."+token) {
			if err != nil {
				t.Fatal(err)
			}
			rows[row.Key] = row.Value
		}
		return rows
	}
	before := classes()
	stop, done := make(chan struct{}), make(chan error, 1)
	late := 0
	go func() {
		for ; ; late++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			scope := w.tenant.Scope(sids[late%4], "health")
			if _, _, err := w.ring.CreateRecord(t.Context(), scope, fmt.Sprint("late-", late), nil); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 3 {
		for _, step := range []func() error{
			func() error { return w.ring.RotateSubjects(t.Context(), token, sids[:4]...) },
			func() error { return w.ring.Quiesce(t.Context()) },
			func() error { return w.ring.FinishSubjects(t.Context(), token, sids[:4]...) },
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	fresh := newRing(t, w.rows, w.root, seal.Options{})
	for _, it := range kept {
		wantOpen(t, fresh, it, "text")
		wantOpen(t, w.ring, it, "text")
	}
	for i := range late {
		if _, err := fresh.Record(t.Context(), token, fmt.Sprint("late-", i)); err != nil {
			t.Fatalf("one of %d that were created meanwhile: %v", late, err)
		}
	}
	changed := 0
	for key, value := range classes() {
		if !bytes.Equal(before[key], value) {
			changed++
		}
	}
	if changed != 4 {
		t.Errorf("%d keys were changed", changed)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.ring.Quiesce(canceled); err != nil {
		t.Errorf("nothing is under way: %v", err)
	}
}
