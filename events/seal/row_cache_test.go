package seal_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/annals-memory/annals/events/seal"
)

// counted is a keyring over counted rows, beside another one over the same rows
// that stands for another process.
type counted struct {
	*world

	clock *clock
	reads *countRows
	near  *seal.Keyring
}

func newCounted(t *testing.T, opts seal.Options) *counted {
	t.Helper()
	c := &counted{clock: &clock{}}
	opts.Now = c.clock.now
	c.world = newWorld(t, opts)
	c.reads = &countRows{Rows: c.rows}
	c.near = newRing(t, c.reads, c.root, opts)
	return c
}

// count is how often the store was asked for rows.
func (c *counted) count(do func()) int64 {
	before := c.reads.gets.Load() + c.reads.many.Load()
	do()
	return c.reads.gets.Load() + c.reads.many.Load() - before
}

func TestOpeningAgainReadsNothing(t *testing.T) {
	t.Parallel()
	c := newCounted(t, seal.Options{})
	own := put(t, c.near, c.scope, "own", "text")
	foreign := put(t, c.ring, c.scope, "foreign", "text")
	if n := c.count(func() { wantOpen(t, c.near, own, "text") }); n != 0 {
		t.Errorf("%d reads for what was made here, want 0", n)
	}
	for i, want := range []int64{1, 0, 0} {
		if n := c.count(func() { wantOpen(t, c.near, foreign, "text") }); n != want {
			t.Errorf("%d reads at opening %d of what was made elsewhere, want %d", n, i, want)
		}
	}
	c.clock.pass(seal.DefaultCacheTTL)
	if n := c.count(func() { wantOpen(t, c.near, foreign, "text") }); n == 0 {
		t.Error("the row outlived its time")
	}
	if n := c.count(func() {
		if _, err := c.near.Record(t.Context(), c.scope.Tenant, "own"); err != nil {
			t.Error(err)
		}
	}); n == 0 {
		t.Error("a record was decided on by a cached row")
	}
	if n := c.count(func() {
		if _, err := c.near.CachedRecord(t.Context(), c.scope.Tenant, "own"); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%d reads for a cached record, want 0", n)
	}
}

// TestRecordDestroyedElsewhere is the whole promise about records of other
// processes: a tombstone before the end of the key lets nothing be kept past it.
func TestRecordDestroyedElsewhere(t *testing.T) {
	t.Parallel()
	for name, told := range map[string]bool{"told": true, "not told": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCounted(t, seal.Options{})
			gone, kept := put(t, c.ring, c.scope, "gone", "text"), put(t, c.ring, c.scope, "kept", "text")
			open := func(it seal.Item) error {
				_, err := c.near.Open(t.Context(), it.Scope, it.Label, it.Sealed)
				return err
			}
			if err := errors.Join(open(gone), open(kept)); err != nil {
				t.Fatal(err)
			}
			if told {
				c.near.EvictRecord(c.scope.Tenant, "gone")
			}
			// Whoever reads between the tombstone and the end of the key.
			if err := open(gone); err != nil {
				t.Fatal(err)
			}
			if err := c.ring.DestroyRecord(t.Context(), c.scope.Tenant, "gone"); err != nil {
				t.Fatal(err)
			}
			if err := open(gone); errors.Is(err, seal.ErrKeyDestroyed) != told {
				t.Errorf("after its end: %v", err)
			}
			if _, err := c.near.CachedRecord(t.Context(), c.scope.Tenant, "gone"); errors.Is(err, seal.ErrKeyDestroyed) != told {
				t.Errorf("cached record after its end: %v", err)
			}
			if _, err := c.near.Record(t.Context(), c.scope.Tenant, "gone"); !errors.Is(err, seal.ErrKeyDestroyed) {
				t.Errorf("the record itself: %v", err)
			}
			// Having asked, it knows.
			if err := open(gone); !errors.Is(err, seal.ErrKeyDestroyed) {
				t.Errorf("after having asked: %v", err)
			}
			if n := c.count(func() { wantOpen(t, c.near, kept, "text") }); n != 0 {
				t.Errorf("%d reads for the neighbour, want 0", n)
			}
		})
	}
}

func TestUntoldKeyringNoticesInTime(t *testing.T) {
	t.Parallel()
	c := newCounted(t, seal.Options{})
	gone, kept := put(t, c.ring, c.scope, "gone", "text"), put(t, c.ring, c.scope, "kept", "text")
	wantOpen(t, c.near, gone, "text")
	if err := c.ring.DestroyRecord(t.Context(), c.scope.Tenant, "gone"); err != nil {
		t.Fatal(err)
	}
	c.clock.pass(seal.DefaultCacheTTL)
	wantDestroyed(t, c.near, gone, seal.LevelRecord)
	wantOpen(t, c.near, kept, "text")
}

// TestSubjectForgottenElsewhere tells a keyring of a tombstone, then reads, then
// the keys end: nothing of the subject was kept by the read in between.
func TestSubjectForgottenElsewhere(t *testing.T) {
	t.Parallel()
	c := newCounted(t, seal.Options{})
	it := put(t, c.ring, c.scope, "r1", "text")
	bob := put(t, c.ring, c.tenant.Scope(mustSubject(t, c.tenant, "bob"), "preferences"), "r2", "text")
	near := mustTenant(t, c.near, "acme")
	find := func() string {
		sid, err := near.FindSubject(t.Context(), "ada")
		if err != nil && !errors.Is(err, seal.ErrUnknownSubject) {
			t.Fatal(err)
		}
		return sid
	}
	wantOpen(t, c.near, it, "text")
	wantOpen(t, c.near, bob, "text")
	if n := c.count(func() { find() }); n != 1 {
		t.Fatalf("%d reads for a name seen first, want 1", n)
	}
	if n := c.count(func() { find() }); n != 0 {
		t.Fatalf("%d reads for a name seen again, want 0", n)
	}
	c.near.Evict(c.scope.Tenant, c.sid)
	wantOpen(t, c.near, it, "text")
	if find() != c.sid {
		t.Fatal("the name is gone before it was dropped")
	}
	if err := c.ring.DestroySubject(t.Context(), c.scope.Tenant, c.sid); err != nil {
		t.Fatal(err)
	}
	if err := c.tenant.DropSubject(t.Context(), c.sid, c.tenant.SubjectHash("ada")); err != nil {
		t.Fatal(err)
	}
	wantDestroyed(t, c.near, it, seal.LevelSubject)
	if sid := find(); sid != "" {
		t.Fatal("the name still stands for the forgotten subject")
	}
	again := mustSubject(t, c.tenant, "ada")
	if find() != again || again == c.sid {
		t.Fatal("a name given anew is not seen")
	}
	if n := c.count(func() { wantOpen(t, c.near, bob, "text") }); n != 0 {
		t.Errorf("%d reads for another subject, want 0", n)
	}
}

// TestOwnDestructionEvicts keeps nothing of what the keyring itself destroyed.
func TestOwnDestructionEvicts(t *testing.T) {
	t.Parallel()
	c := newCounted(t, seal.Options{})
	near := mustTenant(t, c.near, "acme")
	one, two := put(t, c.near, c.scope, "r1", "text"), put(t, c.near, c.scope, "r2", "text")
	if sid, err := near.FindSubject(t.Context(), "ada"); err != nil || sid != c.sid {
		t.Fatalf("find: %v", err)
	}
	if err := c.near.DestroyRecord(t.Context(), c.scope.Tenant, "r1"); err != nil {
		t.Fatal(err)
	}
	wantDestroyed(t, c.near, one, seal.LevelRecord)
	wantOpen(t, c.near, two, "text")
	if err := near.DropSubjectID(t.Context(), c.sid); err != nil {
		t.Fatal(err)
	}
	if _, err := near.FindSubject(t.Context(), "ada"); !errors.Is(err, seal.ErrUnknownSubject) {
		t.Errorf("find a dropped name: %v", err)
	}
	if err := c.near.DestroyTenant(t.Context(), c.scope.Tenant); err != nil {
		t.Fatal(err)
	}
	wantDestroyed(t, c.near, two, seal.LevelTenant)
}

// TestMissingIsNotCached sees what is created elsewhere after it was missed.
func TestMissingIsNotCached(t *testing.T) {
	t.Parallel()
	c := newCounted(t, seal.Options{})
	near := mustTenant(t, c.near, "acme")
	later := label("later")
	if _, err := c.near.Open(t.Context(), c.scope, later, make([]byte, 64)); !errors.Is(err, seal.ErrKeyDestroyed) {
		t.Fatalf("open what is not there: %v", err)
	}
	if _, err := c.near.CachedRecord(t.Context(), c.scope.Tenant, "later"); !errors.Is(err, seal.ErrKeyDestroyed) {
		t.Fatalf("record that is not there: %v", err)
	}
	if _, err := near.FindSubject(t.Context(), "bob"); !errors.Is(err, seal.ErrUnknownSubject) {
		t.Fatalf("name that is not there: %v", err)
	}
	wantOpen(t, c.near, put(t, c.ring, c.scope, "later", "text"), "text")
	if _, err := c.near.CachedRecord(t.Context(), c.scope.Tenant, "later"); err != nil {
		t.Errorf("record: %v", err)
	}
	bob := mustSubject(t, c.tenant, "bob")
	if sid, err := near.FindSubject(t.Context(), "bob"); err != nil || sid != bob {
		t.Errorf("name: %v", err)
	}
	if _, err := near.FindSubject(t.Context(), ""); !errors.Is(err, seal.ErrEmptyName) {
		t.Errorf("no name: %v", err)
	}
	for _, bad := range []struct{ tenant, record string }{{"acme", "later"}, {c.scope.Tenant, "*"}} {
		if _, err := c.near.CachedRecord(t.Context(), bad.tenant, bad.record); !errors.Is(err, seal.ErrBadToken) {
			t.Errorf("bad token: %v", err)
		}
	}
}

// TestCachedRowsOutliveRotation opens by rows that were cached before everything
// above them was rotated elsewhere.
func TestCachedRowsOutliveRotation(t *testing.T) {
	t.Parallel()
	c := newCounted(t, seal.Options{})
	near := mustTenant(t, c.near, "acme")
	it := put(t, c.ring, c.scope, "r1", "text")
	wantOpen(t, c.near, it, "text")
	if _, err := near.FindSubject(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if err := c.ring.RotateSubject(t.Context(), c.scope.Tenant, c.sid); err != nil {
		t.Fatal(err)
	}
	if err := c.ring.RotateTenant(t.Context(), c.scope.Tenant); err != nil {
		t.Fatal(err)
	}
	// New keys come in by what was made since.
	wantOpen(t, c.near, put(t, c.ring, c.scope, "r2", "late"), "late")
	wantOpen(t, c.near, it, "text")
	if sid, err := near.FindSubject(t.Context(), "ada"); err != nil || sid != c.sid {
		t.Errorf("find: %v", err)
	}
	if _, err := c.near.CachedRecord(t.Context(), c.scope.Tenant, "r1"); err != nil {
		t.Errorf("record: %v", err)
	}
}

func TestRowsAreBounded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		opts seal.Options
		want int64
	}{
		"three":   {seal.Options{RowCacheSize: 3}, 3},
		"none":    {seal.Options{RowCacheSize: -1}, 0},
		"no keys": {seal.Options{CacheSize: -1}, 0},
		"default": {seal.Options{}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCounted(t, tc.opts)
			items := make([]seal.Item, 8)
			for i := range items {
				items[i] = put(t, c.near, c.scope, fmt.Sprintf("r%d", i), "text")
			}
			hits := int64(0)
			for _, item := range slices.Backward(items) { // the last ones first: opening pushes out too
				if c.count(func() { wantOpen(t, c.near, item, "text") }) == 0 {
					hits++
				}
			}
			if hits != tc.want {
				t.Errorf("%d of %d rows were cached, want %d", hits, len(items), tc.want)
			}
		})
	}
}

func TestBarsEnd(t *testing.T) {
	t.Parallel()
	c := newCounted(t, seal.Options{CacheTTL: time.Hour})
	it := put(t, c.ring, c.scope, "r1", "text")
	c.near.EvictRecord(c.scope.Tenant, "r1")
	opened := func() int64 { return c.count(func() { wantOpen(t, c.near, it, "text") }) }
	if first, second := opened(), opened(); first == 0 || second == 0 {
		t.Errorf("%d and %d reads of a barred row, want some", first, second)
	}
	c.clock.pass(time.Hour)
	if first, second := opened(), opened(); first == 0 || second != 0 {
		t.Errorf("%d and %d reads after the bar, want some and none", first, second)
	}
}

// TestCachedRowsOutliveNoRotation keeps rows and keys from before a rotation in two
// processes, one of which rotates: what was re-wrapped opens in both, from the
// first reading on, and is kept as it is now.
func TestCachedRowsOutliveNoRotation(t *testing.T) {
	t.Parallel()
	c := newCounted(t, seal.Options{})
	items := make([]seal.Item, 5)
	for i := range items {
		items[i] = put(t, c.ring, c.scope, fmt.Sprintf("r%d", i), "text")
		wantOpen(t, c.near, items[i], "text")
	}
	token := c.scope.Tenant
	for range 3 {
		for _, step := range []func() error{
			func() error { return c.ring.RotateSubject(t.Context(), token, c.sid) },
			func() error { return c.ring.FinishSubject(t.Context(), token, c.sid) },
			func() error { return c.ring.RotateTenant(t.Context(), token) },
			func() error { return c.ring.FinishTenant(t.Context(), token) },
			func() error { return c.ring.RotateRoot(t.Context()) },
			func() error { return c.ring.FinishRoot(t.Context()) },
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
			for _, it := range items {
				wantOpen(t, c.ring, it, "text")
				wantOpen(t, c.near, it, "text")
			}
			if n := c.count(func() {
				for _, it := range items {
					wantOpen(t, c.near, it, "text")
				}
			}); n != 0 {
				t.Fatalf("%d reads for what has been read after the rotation, want 0", n)
			}
		}
		c.clock.pass(seal.DefaultCacheTTL)
	}
}
