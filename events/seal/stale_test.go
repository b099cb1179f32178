package seal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/annals-memory/annals/events/seal"
)

// TestStaleKeyIsAskedForAgain keeps a cached K2 while another process destroys
// it and makes a new one: what is under the new key opens at once.
func TestStaleKeyIsAskedForAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	stale := newRing(t, w.rows, w.root, seal.Options{})
	old := put(t, w.ring, w.scope, "r1", "old")
	wantOpen(t, stale, old, "old")
	if err := w.ring.DestroySubject(t.Context(), w.scope.Tenant, w.sid); err != nil {
		t.Fatal(err)
	}
	put(t, w.ring, w.scope, "r2", "new")
	rec, err := stale.Record(t.Context(), w.scope.Tenant, "r2")
	if err != nil || rec.Scope() != w.scope {
		t.Fatalf("record under the new key: %v", err)
	}
	wantDestroyed(t, stale, old, seal.LevelSubject)

	other := newRing(t, w.rows, w.root, seal.Options{})
	late := put(t, w.ring, w.scope, "r3", "late")
	wantOpen(t, other, late, "late")
	if err := w.ring.RotateSubject(t.Context(), w.scope.Tenant, w.sid); err != nil {
		t.Fatal(err)
	}
	if rec, err = other.Record(t.Context(), w.scope.Tenant, "r3"); err != nil {
		t.Fatalf("record under the rotated key: %v", err)
	}
	if text, err := rec.Open(late.Label, late.Sealed); err != nil || string(text) != "late" {
		t.Fatalf("open under the rotated key: %q, %v", text, err)
	}
}

// TestLateWriterOfAForgottenSubject creates under a K2 that is gone elsewhere:
// what it writes never opens.
func TestLateWriterOfAForgottenSubject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	late := newRing(t, w.rows, w.root, seal.Options{})
	wantOpen(t, late, put(t, w.ring, w.scope, "r1", "text"), "text")
	if err := w.ring.DestroySubject(t.Context(), w.scope.Tenant, w.sid); err != nil {
		t.Fatal(err)
	}
	it := put(t, late, w.scope, "r2", "late")
	wantDestroyed(t, w.ring, it, seal.LevelSubject)
	put(t, w.ring, w.scope, "r3", "a new key")
	wantDestroyed(t, w.ring, it, seal.LevelSubject)
}

func TestEvictExpired(t *testing.T) {
	t.Parallel()
	c := &clock{}
	mem, root := seal.NewMemRows(), newRoot(t)
	rows := &countRows{Rows: mem}
	ring := newRing(t, rows, root, seal.Options{Now: c.now, CacheTTL: time.Hour})
	tenant := mustTenant(t, ring, "acme")
	reads := func() int64 {
		before := rows.gets.Load()
		if _, err := ring.TenantByToken(t.Context(), tenant.Token()); err != nil {
			t.Fatal(err)
		}
		return rows.gets.Load() - before
	}
	c.pass(time.Hour - 1)
	ring.EvictExpired()
	if n := reads(); n != 0 {
		t.Fatalf("%d reads before the key expired, want 0", n)
	}
	c.pass(1)
	ring.EvictExpired()
	if n := reads(); n != 1 {
		t.Fatalf("%d reads after the key expired, want 1", n)
	}
	ring.EvictTenant(tenant.Token())
	if n := reads(); n != 1 {
		t.Fatalf("%d reads after eviction, want 1", n)
	}
}

func TestGarbageStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	for _, record := range []string{"r1", "r2", "r3"} {
		put(t, w.ring, w.scope, record, "text")
	}
	if err := w.ring.DestroySubject(t.Context(), w.scope.Tenant, w.sid); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, err := range w.ring.Garbage(t.Context(), w.scope.Tenant) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 2 {
			break
		}
	}
	if seen != 2 {
		t.Fatalf("saw %d records, want to stop at 2", seen)
	}
	for tenant, want := range map[string]error{"acme": seal.ErrBadToken, w.scope.Tenant: errBroken} {
		var last error
		for _, err := range newRing(t, brokenRows{w.rows}, w.root, seal.Options{}).Garbage(t.Context(), tenant) {
			last = err
		}
		if !errors.Is(last, want) {
			t.Errorf("garbage: %v, want %v", last, want)
		}
	}
}

func TestErrorsSayWhat(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"row k1.a exists":                              &seal.RowExistsError{Key: "k1.a"},
		"record key destroyed":                         &seal.KeyDestroyedError{Level: seal.LevelRecord},
		"subject is not a token":                       &seal.TokenError{Field: "subject"},
		"root file a/b: root file must have mode 0600": &seal.RootFileError{Path: "a/b", Err: seal.ErrRootMode},
	} {
		if err.Error() != want {
			t.Errorf("error says %q, want %q", err, want)
		}
	}
}
