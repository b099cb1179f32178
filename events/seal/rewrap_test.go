package seal_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/annals-memory/annals/events/seal"
)

// meddler does something else just before the first batch is replaced.
type meddler struct {
	seal.Rows
	once   sync.Once
	before func()
}

func (m *meddler) Replace(ctx context.Context, rows ...seal.Row) error {
	m.once.Do(m.before)
	return m.Rows.Replace(ctx, rows...)
}

// TestRotationMeetsOthers destroys a record, and has another keyring finish the
// same re-wrapping, between the reading and the writing of a batch.
func TestRotationMeetsOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	token := w.scope.Tenant
	items := make([]seal.Item, 2*seal.MaxCreate+10)
	news := make([]seal.NewRecord, len(items))
	for i := range news {
		news[i] = seal.NewRecord{Scope: w.scope, Record: fmt.Sprintf("r%d", i)}
	}
	for start := 0; start < len(news); start += seal.MaxCreate {
		recs, err := w.ring.NewRecords(t.Context(), news[start:min(start+seal.MaxCreate, len(news))])
		if err != nil {
			t.Fatal(err)
		}
		for i, rec := range recs {
			sealed, err := rec.Seal(label(rec.ID()), []byte("text"))
			if err != nil {
				t.Fatal(err)
			}
			items[start+i] = seal.Item{Scope: w.scope, Label: label(rec.ID()), Sealed: sealed}
		}
	}
	for name, before := range map[string]func() error{
		"nothing":   func() error { return nil },
		"destroyed": func() error { return w.ring.DestroyRecord(t.Context(), token, "r0", "r5") },
		"rotated":   func() error { return w.ring.RotateSubject(t.Context(), token, w.sid) },
	} {
		rows := &meddler{Rows: w.rows, before: func() {
			if err := before(); err != nil {
				t.Error(err)
			}
		}}
		ring := newRing(t, rows, w.root, seal.Options{})
		if err := errors.Join(ring.RotateSubject(t.Context(), token, w.sid), ring.FinishSubject(t.Context(), token, w.sid)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fresh := newRing(t, w.rows, w.root, seal.Options{})
		for i, result := range fresh.OpenMany(t.Context(), items) {
			gone := errors.Is(result.Err, seal.ErrKeyDestroyed)
			if gone && (i == 0 || i == 5) {
				continue
			}
			if result.Err != nil || string(result.Plaintext) != "text" {
				t.Fatalf("%s: open %d: %q, %v", name, i, result.Plaintext, result.Err)
			}
		}
	}
	for _, record := range []string{"r0", "r5"} {
		if _, err := w.ring.Record(t.Context(), token, record); !errors.Is(err, seal.ErrKeyDestroyed) {
			t.Fatalf("a destroyed record after a rotation: %v, want ErrKeyDestroyed", err)
		}
	}
}

// TestSweep removes what nothing opens, and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	token := w.scope.Tenant
	kept := put(t, w.ring, w.tenant.Scope(w.sid, "health"), "kept", "text")
	gone := put(t, w.ring, w.scope, "gone", "text")
	elsewhere := put(t, w.ring, mustTenant(t, w.ring, "globex").Scope(w.sid, "c"), "kept", "text")
	if n, err := w.ring.Sweep(t.Context(), token, nil); n != 0 || err != nil {
		t.Fatalf("swept %d, %v, where nothing is garbage", n, err)
	}
	if err := w.ring.DestroyClass(t.Context(), w.scope); err != nil {
		t.Fatal(err)
	}
	again := put(t, w.ring, w.scope, "again", "text")
	if n, err := w.ring.Sweep(t.Context(), token, nil); n != 1 || err != nil {
		t.Fatalf("swept %d, %v, want 1", n, err)
	}
	for _, it := range []seal.Item{kept, elsewhere, again} {
		wantOpen(t, w.ring, it, "text")
	}
	if _, err := w.rows.Get(t.Context(), "k3."+token+".gone"); !errors.Is(err, seal.ErrNoRow) {
		t.Fatalf("the garbage's row: %v, want ErrNoRow", err)
	}
	wantDestroyed(t, w.ring, gone, seal.LevelRecord)
	if _, err := w.ring.Sweep(t.Context(), "acme", nil); !errors.Is(err, seal.ErrBadToken) {
		t.Fatalf("name as a token: %v, want ErrBadToken", err)
	}
}
