package seal_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/annals-memory/annals/events/seal"
)

func garbage(t *testing.T, ring *seal.Keyring, tenant string) []string {
	t.Helper()
	var records []string
	for record, err := range ring.Garbage(t.Context(), tenant) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
	slices.Sort(records)
	return records
}

func TestDestroyRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	other := newRing(t, w.rows, w.root, seal.Options{})
	gone, kept := put(t, w.ring, w.scope, "r1", "gone"), put(t, w.ring, w.scope, "r2", "kept")
	wantOpen(t, other, gone, "gone")
	for range 2 {
		if err := w.ring.DestroyRecord(t.Context(), w.scope.Tenant, "r1", "absent"); err != nil {
			t.Fatal(err)
		}
	}
	// Another keyring, which has opened it, notices when the tombstone tells it.
	wantOpen(t, other, gone, "gone")
	other.EvictRecord(w.scope.Tenant, "r1")
	for _, ring := range []*seal.Keyring{w.ring, other} {
		wantDestroyed(t, ring, gone, seal.LevelRecord)
		wantOpen(t, ring, kept, "kept")
	}
	if err := w.ring.DestroyRecord(t.Context(), w.scope.Tenant, "r2", "*"); !errors.Is(err, seal.ErrBadToken) {
		t.Fatalf("wildcard: %v, want ErrBadToken", err)
	}
	wantOpen(t, w.ring, kept, "kept")
	// A record made anew under the id does not open the old bytes.
	put(t, w.ring, w.scope, "r1", "anew")
	if _, err := w.ring.Open(t.Context(), gone.Scope, gone.Label, gone.Sealed); !errors.Is(err, seal.ErrTampered) {
		t.Fatalf("old bytes under a new key: %v, want ErrTampered", err)
	}
}

func TestDestroyClass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	health := w.tenant.Scope(w.sid, "health")
	gone, kept := put(t, w.ring, health, "r1", "gone"), put(t, w.ring, w.scope, "r2", "kept")
	for range 2 {
		if err := w.ring.DestroyClass(t.Context(), health); err != nil {
			t.Fatal(err)
		}
	}
	wantDestroyed(t, w.ring, gone, seal.LevelSubject)
	wantOpen(t, w.ring, kept, "kept")
	if got := garbage(t, w.ring, w.scope.Tenant); !slices.Equal(got, []string{"r1"}) {
		t.Fatalf("garbage %v, want r1", got)
	}
}

func TestDestroySubject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	bob := w.tenant.Scope(mustSubject(t, w.tenant, "bob"), "preferences")
	elsewhere := mustTenant(t, w.ring, "globex")
	away := elsewhere.Scope(mustSubject(t, elsewhere, "ada"), "preferences")
	gone := []seal.Item{
		put(t, w.ring, w.scope, "r1", "text"), put(t, w.ring, w.scope, "r2", "text"),
		put(t, w.ring, w.tenant.Scope(w.sid, "health"), "r3", "text"),
	}
	kept := []seal.Item{
		put(t, w.ring, bob, "r4", "text"), put(t, w.ring, away, "r1", "text"),
		put(t, w.ring, w.tenant.Scope(seal.Nobody, "procedures"), "r5", "text"),
	}
	if got := garbage(t, w.ring, w.scope.Tenant); len(got) != 0 {
		t.Fatalf("garbage %v before anything was destroyed", got)
	}
	for range 2 {
		if err := w.ring.DestroySubject(t.Context(), w.scope.Tenant, w.sid); err != nil {
			t.Fatal(err)
		}
	}
	for _, ring := range []*seal.Keyring{w.ring, newRing(t, w.rows, w.root, seal.Options{})} {
		for _, it := range gone {
			wantDestroyed(t, ring, it, seal.LevelSubject)
		}
		for _, it := range kept {
			wantOpen(t, ring, it, "text")
		}
	}
	// A repeated command still learns that its record was there, and gives the
	// subject no key again.
	if _, existed, err := w.ring.CreateRecord(t.Context(), w.scope, "r1", nil); !existed || !errors.Is(err, seal.ErrKeyDestroyed) {
		t.Fatalf("repeated command: existed %v, %v, want ErrKeyDestroyed", existed, err)
	}
	for row, err := range w.rows.List(t.Context(), "k2."+w.scope.Tenant+"."+w.sid) {
		if err != nil {
			t.Fatal(err)
		}
		t.Fatalf("row %s is back", row.Key)
	}
	// Under a key that a late writer makes, what was forgotten stays forgotten
	// and is not taken for damage.
	kept = append(kept, put(t, w.ring, w.scope, "late", "text"))
	for _, ring := range []*seal.Keyring{w.ring, newRing(t, w.rows, w.root, seal.Options{})} {
		wantDestroyed(t, ring, gone[0], seal.LevelSubject)
		wantOpen(t, ring, kept[len(kept)-1], "text")
	}
	left := garbage(t, w.ring, w.scope.Tenant)
	if !slices.Equal(left, []string{"r1", "r2", "r3"}) {
		t.Fatalf("garbage %v, want r1 to r3", left)
	}
	if err := w.ring.DestroyRecord(t.Context(), w.scope.Tenant, left...); err != nil {
		t.Fatal(err)
	}
	if left := garbage(t, w.ring, w.scope.Tenant); len(left) != 0 {
		t.Fatalf("garbage %v after sweeping", left)
	}
	for _, it := range kept {
		wantOpen(t, w.ring, it, "text")
	}
	if err := w.ring.DestroySubject(t.Context(), w.scope.Tenant, "ada"); !errors.Is(err, seal.ErrBadToken) {
		t.Fatalf("name as an id: %v, want ErrBadToken", err)
	}
}

func TestDestroyTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	globex := mustTenant(t, w.ring, "globex")
	gone := put(t, w.ring, w.scope, "r1", "gone")
	kept := put(t, w.ring, globex.Scope(seal.Nobody, "procedures"), "r1", "kept")
	for range 2 {
		if err := w.ring.DestroyTenant(t.Context(), w.tenant.Token()); err != nil {
			t.Fatal(err)
		}
	}
	wantDestroyed(t, w.ring, gone, seal.LevelTenant)
	wantOpen(t, w.ring, kept, "kept")
	if _, err := w.ring.Tenant(t.Context(), "acme", false); !errors.Is(err, seal.ErrUnknownTenant) {
		t.Fatalf("destroyed tenant: %v, want ErrUnknownTenant", err)
	}
	if _, err := w.tenant.SubjectID(t.Context(), "ada", true); !errors.Is(err, seal.ErrKeyDestroyed) {
		t.Fatalf("subject of a destroyed tenant: %v, want ErrKeyDestroyed", err)
	}
	for row, err := range w.rows.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if seal.HasPrefix(row.Key, "k1."+w.tenant.Token()) || seal.HasPrefix(row.Key, "k3."+w.tenant.Token()) {
			t.Errorf("row %s is left", row.Key)
		}
	}
	// The name can be used again and has nothing in common with before.
	anew := mustTenant(t, w.ring, "acme")
	if anew.Token() != w.tenant.Token() || anew.Hash("f", "v") == w.tenant.Hash("f", "v") {
		t.Fatal("the tenant made anew has another token or the old index key")
	}
}
