package seal_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/annals-memory/annals/events/seal"
)

// snapshot copies all rows, as a backup would.
func snapshot(t *testing.T, rows seal.Rows) *seal.MemRows {
	t.Helper()
	backup := seal.NewMemRows()
	for row, err := range rows.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if err := backup.Create(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	return backup
}

// restore puts one row of a backup in the place of the current one.
func restore(t *testing.T, rows, backup seal.Rows, key string) {
	t.Helper()
	old, err := backup.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.Destroy(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if err := rows.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}
}

func TestRotateRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	globex := mustTenant(t, w.ring, "globex").Scope(seal.Nobody, "procedures")
	items := []seal.Item{put(t, w.ring, w.scope, "r1", "text"), put(t, w.ring, globex, "r1", "text")}
	backup := snapshot(t, w.rows)
	next := newRoot(t)
	for range 2 {
		if err := newRing(t, w.rows, next, seal.Options{Retired: []seal.Root{w.root}}).RotateRoot(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// The old root is gone for good: the rows open, the backup does not.
	ring := newRing(t, w.rows, next, seal.Options{})
	if mustTenant(t, ring, "acme").Token() != w.tenant.Token() {
		t.Fatal("the tenant's token changed")
	}
	for _, it := range items {
		wantOpen(t, ring, it, "text")
		if _, err := newRing(t, backup, next, seal.Options{}).Open(t.Context(), it.Scope, it.Label, it.Sealed); !errors.Is(err, seal.ErrOtherRoot) {
			t.Fatalf("backup under the new root: %v, want ErrOtherRoot", err)
		}
		if _, err := newRing(t, w.rows, w.root, seal.Options{}).Open(t.Context(), it.Scope, it.Label, it.Sealed); !errors.Is(err, seal.ErrOtherRoot) {
			t.Fatalf("rotated rows under the old root: %v, want ErrOtherRoot", err)
		}
	}
}

func TestRotateTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	token := w.scope.Tenant
	stale := newRing(t, w.rows, w.root, seal.Options{})
	it := put(t, w.ring, w.scope, "r1", "text")
	gone := put(t, w.ring, w.tenant.Scope(w.sid, "health"), "r2", "gone")
	wantOpen(t, stale, it, "text")
	backup := snapshot(t, w.rows)
	if err := w.ring.DestroyClass(t.Context(), gone.Scope); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.ring.RotateTenant(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	// Another process with the old key in its cache goes on reading and writing.
	stale.Evict(token, w.sid)
	wantOpen(t, stale, it, "text")
	staleTenant := mustTenant(t, stale, "acme")
	if got := mustSubject(t, staleTenant, "ada"); got != w.sid {
		t.Fatal("the subject's id changed")
	}
	straggler := put(t, stale, staleTenant.Scope(mustSubject(t, staleTenant, "bob"), "preferences"), "r3", "late")

	if err := w.ring.FinishTenant(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if err := w.ring.FinishTenant(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	ring := newRing(t, w.rows, w.root, seal.Options{})
	wantOpen(t, ring, it, "text")
	wantOpen(t, ring, straggler, "late")
	tenant := mustTenant(t, ring, "acme")
	if tenant.Hash("f", "v") != w.tenant.Hash("f", "v") || string(tenant.TermKey()) != string(w.tenant.TermKey()) {
		t.Fatal("hashes changed")
	}
	if mustSubject(t, tenant, "ada") != w.sid {
		t.Fatal("the subject's id changed")
	}
	// The destroyed row, brought back from a backup, is dead.
	wantDestroyed(t, ring, gone, seal.LevelSubject)
	key := "k2." + token + "." + w.sid + "." + gone.Scope.Class
	restore(t, w.rows, backup, key)
	if _, err := ring.Open(t.Context(), gone.Scope, gone.Label, gone.Sealed); !errors.Is(err, seal.ErrTampered) {
		t.Fatalf("restored row under the new key: %v, want ErrTampered", err)
	}
	// Positive control: with the old parent it would have come alive.
	restore(t, w.rows, backup, "k1."+token)
	wantOpen(t, newRing(t, w.rows, w.root, seal.Options{}), gone, "gone")
}

func TestRotateSubject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	token := w.scope.Tenant
	stale := newRing(t, w.rows, w.root, seal.Options{})
	health := w.tenant.Scope(w.sid, "health")
	bob := w.tenant.Scope(mustSubject(t, w.tenant, "bob"), "preferences")
	kept := []seal.Item{put(t, w.ring, w.scope, "r1", "text"), put(t, w.ring, health, "r2", "text"), put(t, w.ring, bob, "r3", "text")}
	gone := put(t, w.ring, w.scope, "r4", "gone")
	wantOpen(t, stale, gone, "gone")
	backup := snapshot(t, w.rows)
	if err := w.ring.DestroyRecord(t.Context(), token, "r4"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.ring.RotateSubject(t.Context(), token, w.sid); err != nil {
			t.Fatal(err)
		}
	}
	for _, it := range kept {
		wantOpen(t, stale, it, "text")
	}
	kept = append(kept, put(t, stale, w.scope, "r5", "text"))
	for range 2 {
		if err := w.ring.FinishSubject(t.Context(), token, w.sid); err != nil {
			t.Fatal(err)
		}
	}
	ring := newRing(t, w.rows, w.root, seal.Options{})
	for _, it := range kept {
		wantOpen(t, ring, it, "text")
		wantOpen(t, w.ring, it, "text")
	}
	if left := garbage(t, ring, token); len(left) != 0 {
		t.Fatalf("rotation made garbage of %v", left)
	}
	wantDestroyed(t, ring, gone, seal.LevelRecord)
	restore(t, w.rows, backup, "k3."+token+".r4")
	if _, err := ring.Open(t.Context(), gone.Scope, gone.Label, gone.Sealed); !errors.Is(err, seal.ErrTampered) {
		t.Fatalf("restored row under the new key: %v, want ErrTampered", err)
	}
	restore(t, w.rows, backup, "k2."+token+"."+w.sid+"."+w.scope.Class)
	wantOpen(t, newRing(t, w.rows, w.root, seal.Options{}), gone, "gone")

	if err := w.ring.RotateSubject(t.Context(), token, "ada"); !errors.Is(err, seal.ErrBadToken) {
		t.Fatalf("name as an id: %v, want ErrBadToken", err)
	}
	if err := w.ring.RotateSubject(t.Context(), token, seal.Nobody); err != nil {
		t.Fatalf("subject without keys: %v", err)
	}
}

// failWrite fails the k-th write and those after it.
type failWrite struct {
	seal.Rows
	left atomic.Int64
}

func (f *failWrite) Put(ctx context.Context, row seal.Row) (uint64, error) {
	if f.left.Add(-1) < 0 {
		return 0, errBroken
	}
	return f.Rows.Put(ctx, row)
}

// Replace writes one row after another, so that it fails between them too: less
// than a store promises.
func (f *failWrite) Replace(ctx context.Context, rows ...seal.Row) error {
	for _, row := range rows {
		if f.left.Add(-1) < 0 {
			return errBroken
		}
		if err := f.Rows.Replace(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// TestRotationIsInterrupted stops at every write, and takes it up again.
func TestRotationIsInterrupted(t *testing.T) {
	t.Parallel()
	for k := range int64(20) {
		w := newWorld(t, seal.Options{})
		token := w.scope.Tenant
		var items []seal.Item
		for i, class := range []string{"preferences", "health"} {
			items = append(items, put(t, w.ring, w.tenant.Scope(w.sid, class), fmt.Sprintf("r%d", i), "text"))
		}
		rows := &failWrite{Rows: w.rows}
		rows.left.Store(k)
		rotate := func(ring *seal.Keyring) error {
			for _, step := range []func() error{
				func() error { return ring.RotateTenant(t.Context(), token) },
				func() error { return ring.FinishTenant(t.Context(), token) },
				func() error { return ring.RotateSubject(t.Context(), token, w.sid) },
				func() error { return ring.FinishSubject(t.Context(), token, w.sid) },
			} {
				if err := step(); err != nil {
					return err
				}
			}
			return nil
		}
		err := rotate(newRing(t, rows, w.root, seal.Options{}))
		if err != nil && !errors.Is(err, errBroken) {
			t.Fatalf("stopped at write %d: %v", k, err)
		}
		if k == 0 && err == nil {
			t.Fatal("rotation wrote nothing")
		}
		for range 2 {
			ring := newRing(t, w.rows, w.root, seal.Options{})
			for _, it := range items {
				wantOpen(t, ring, it, "text")
			}
			if got := mustSubject(t, mustTenant(t, ring, "acme"), "ada"); got != w.sid {
				t.Fatal("the subject's id changed")
			}
			if err := rotate(w.ring); err != nil {
				t.Fatalf("taken up after write %d: %v", k, err)
			}
		}
	}
}

// TestRotationUnderLoad reads and writes through two keyrings while a third
// rotates everything.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	token := w.scope.Tenant
	it := put(t, w.ring, w.scope, "r0", "text")
	rings := []*seal.Keyring{newRing(t, w.rows, w.root, seal.Options{}), newRing(t, w.rows, w.root, seal.Options{CacheSize: -1})}
	items := make([]seal.Item, 8*20)
	together(9, func(i int) {
		if i == 8 {
			for range 5 {
				if err := errors.Join(w.ring.RotateTenant(t.Context(), token), w.ring.RotateSubject(t.Context(), token, w.sid)); err != nil {
					t.Errorf("rotate: %v", err)
				}
			}
			return
		}
		ring := rings[i%2]
		for j := range 20 {
			record := fmt.Sprintf("r%d-%d", i, j)
			rec, _, err := ring.CreateRecord(t.Context(), w.scope, record, nil)
			if err != nil {
				t.Errorf("create: %v", err)
				return
			}
			sealed, err := rec.Seal(label(record), []byte("text"))
			if err != nil {
				t.Errorf("seal: %v", err)
			}
			items[i*20+j] = seal.Item{Scope: w.scope, Label: label(record), Sealed: sealed}
			if got, err := ring.Open(t.Context(), it.Scope, it.Label, it.Sealed); err != nil || string(got) != "text" {
				t.Errorf("open: %q, %v", got, err)
			}
		}
	})
	if err := errors.Join(w.ring.FinishTenant(t.Context(), token), w.ring.FinishSubject(t.Context(), token, w.sid)); err != nil {
		t.Fatal(err)
	}
	for i, result := range newRing(t, w.rows, w.root, seal.Options{}).OpenMany(t.Context(), append(items, it)) {
		if result.Err != nil || string(result.Plaintext) != "text" {
			t.Fatalf("open %d after rotation: %q, %v", i, result.Plaintext, result.Err)
		}
	}
}
