package seal_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annals-memory/annals/events/seal"
)

const racers = 50

// clock is a clock that tests move.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time       { return time.Unix(0, c.ns.Load()).UTC() }
func (c *clock) pass(d time.Duration) { c.ns.Add(int64(d)) }
func fixed() time.Time                { return time.Unix(1_800_000_000, 0).UTC() }

// countRows counts the reads that reach the store.
type countRows struct {
	seal.Rows
	gets, many atomic.Int64
}

func (c *countRows) Get(ctx context.Context, key string) (seal.Row, error) {
	c.gets.Add(1)
	return c.Rows.Get(ctx, key)
}

func (c *countRows) GetMany(ctx context.Context, keys []string) (map[string]seal.Row, error) {
	c.many.Add(1)
	return c.Rows.GetMany(ctx, keys)
}

// brokenRows fails every read.
type brokenRows struct{ seal.Rows }

var errBroken = errors.New("store is down")

func (brokenRows) Get(context.Context, string) (seal.Row, error) { return seal.Row{}, errBroken }

func (brokenRows) GetMany(context.Context, []string) (map[string]seal.Row, error) {
	return nil, errBroken
}

func (brokenRows) List(context.Context, string) iter.Seq2[seal.Row, error] {
	return func(yield func(seal.Row, error) bool) { yield(seal.Row{}, errBroken) }
}

func newRoot(tb testing.TB) *seal.FileRoot {
	tb.Helper()
	root, err := seal.OpenFileRoot(filepath.Join(tb.TempDir(), "root.key"), seal.FileRootOptions{Create: true})
	if err != nil {
		tb.Fatal(err)
	}
	return root
}

func newRing(tb testing.TB, rows seal.Rows, root seal.Root, opts seal.Options) *seal.Keyring {
	tb.Helper()
	if opts.Now == nil {
		opts.Now = fixed
	}
	ring, err := seal.New(rows, root, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return ring
}

// world is one tenant with one subject and two classes.
type world struct {
	rows   *seal.MemRows
	root   *seal.FileRoot
	ring   *seal.Keyring
	tenant *seal.Tenant
	sid    string
	scope  seal.Scope
}

func newWorld(tb testing.TB, opts seal.Options) *world {
	tb.Helper()
	w := &world{rows: seal.NewMemRows(), root: newRoot(tb)}
	w.ring = newRing(tb, w.rows, w.root, opts)
	w.tenant = mustTenant(tb, w.ring, "acme")
	w.sid = mustSubject(tb, w.tenant, "ada")
	w.scope = w.tenant.Scope(w.sid, "preferences")
	return w
}

func mustTenant(tb testing.TB, ring *seal.Keyring, name string) *seal.Tenant {
	tb.Helper()
	tenant, err := ring.Tenant(tb.Context(), name, true)
	if err != nil {
		tb.Fatal(err)
	}
	return tenant
}

func mustSubject(tb testing.TB, tenant *seal.Tenant, name string) string {
	tb.Helper()
	sid, err := tenant.SubjectID(tb.Context(), name, true)
	if err != nil {
		tb.Fatal(err)
	}
	return sid
}

func label(record string) seal.Label {
	return seal.Label{Aggregate: "episode", Record: record, EventType: "annals.episode.captured.v1"}
}

// put creates a record and seals text in it.
func put(tb testing.TB, ring *seal.Keyring, scope seal.Scope, record, text string) seal.Item {
	tb.Helper()
	rec, existed, err := ring.CreateRecord(tb.Context(), scope, record, nil)
	if err != nil || existed {
		tb.Fatalf("create record: existed %v, %v", existed, err)
	}
	sealed, err := rec.Seal(label(record), []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return seal.Item{Scope: scope, Label: label(record), Sealed: sealed}
}

func wantOpen(tb testing.TB, ring *seal.Keyring, it seal.Item, text string) {
	tb.Helper()
	got, err := ring.Open(tb.Context(), it.Scope, it.Label, it.Sealed)
	if err != nil || string(got) != text {
		tb.Fatalf("open: %q, %v, want %q", got, err, text)
	}
}

func wantDestroyed(tb testing.TB, ring *seal.Keyring, it seal.Item, level seal.Level) {
	tb.Helper()
	_, err := ring.Open(tb.Context(), it.Scope, it.Label, it.Sealed)
	var destroyed *seal.KeyDestroyedError
	if !errors.Is(err, seal.ErrKeyDestroyed) || !errors.As(err, &destroyed) || destroyed.Level != level {
		tb.Fatalf("open: %v, want the %s key destroyed", err, level)
	}
}

func together(n int, run func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			run(i)
		})
	}
	close(start)
	wg.Wait()
}

func TestNewWantsItsParts(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	for name, build := range map[string]func() (*seal.Keyring, error){
		"rows":  func() (*seal.Keyring, error) { return seal.New(nil, root, seal.Options{Now: fixed}) },
		"root":  func() (*seal.Keyring, error) { return seal.New(seal.NewMemRows(), nil, seal.Options{Now: fixed}) },
		"clock": func() (*seal.Keyring, error) { return seal.New(seal.NewMemRows(), root, seal.Options{}) },
	} {
		if _, err := build(); !errors.Is(err, seal.ErrOptions) {
			t.Errorf("without %s: %v, want ErrOptions", name, err)
		}
	}
}

// TestReplicasAgree lets two keyrings over the same rows make everything at the
// same time.
func TestReplicasAgree(t *testing.T) {
	t.Parallel()
	rows, root := seal.NewMemRows(), newRoot(t)
	rings := []*seal.Keyring{newRing(t, rows, root, seal.Options{}), newRing(t, rows, root, seal.Options{})}
	ids, tokens, hashes := make([]string, racers), make([]string, racers), make([]string, racers)
	items := make([]seal.Item, racers)
	created := make([]bool, racers)
	together(racers, func(i int) {
		ring := rings[i%2]
		tenant, err := ring.Tenant(t.Context(), "acme", true)
		if err != nil {
			t.Errorf("tenant: %v", err)
			return
		}
		tokens[i], hashes[i] = tenant.Token(), tenant.Hash("f", "v")
		if ids[i], err = tenant.SubjectID(t.Context(), "ada", true); err != nil {
			t.Errorf("subject: %v", err)
			return
		}
		scope := tenant.Scope(ids[i], "preferences")
		record := fmt.Sprintf("r%d", i)
		rec, _, err := ring.CreateRecord(t.Context(), scope, record, nil)
		if err != nil {
			t.Errorf("record: %v", err)
			return
		}
		sealed, err := rec.Seal(label(record), []byte(record))
		if err != nil {
			t.Errorf("seal: %v", err)
		}
		items[i] = seal.Item{Scope: scope, Label: label(record), Sealed: sealed}
		_, existed, err := ring.CreateRecord(t.Context(), scope, "shared", fmt.Append(nil, i))
		if err != nil {
			t.Errorf("shared record: %v", err)
		}
		created[i] = !existed
	})
	if t.Failed() {
		return
	}
	winners := 0
	for i := range racers {
		if ids[i] != ids[0] || tokens[i] != tokens[0] || hashes[i] != hashes[0] {
			t.Fatalf("racer %d has another tenant or subject than racer 0", i)
		}
		if created[i] {
			winners++
		}
	}
	if winners != 1 {
		t.Fatalf("%d racers created the shared record, want 1", winners)
	}
	// A third keyring, with no cache to help it, opens everyone's.
	for _, ring := range append(rings, newRing(t, rows, root, seal.Options{CacheSize: -1})) {
		for i, result := range ring.OpenMany(t.Context(), items) {
			if result.Err != nil || string(result.Plaintext) != fmt.Sprintf("r%d", i) {
				t.Fatalf("open %d: %q, %v", i, result.Plaintext, result.Err)
			}
		}
	}
}

func TestCacheSavesReadsAndExpires(t *testing.T) {
	t.Parallel()
	c := &clock{}
	mem, root := seal.NewMemRows(), newRoot(t)
	rows := &countRows{Rows: mem}
	ring := newRing(t, rows, root, seal.Options{Now: c.now})
	other := newRing(t, mem, root, seal.Options{Now: c.now})
	tenant := mustTenant(t, ring, "acme")
	sid := mustSubject(t, tenant, "ada")
	it := put(t, ring, tenant.Scope(sid, "preferences"), "r1", "text")
	wantOpen(t, ring, it, "text")

	// The tenant is known without asking, for the whole time to live.
	gets := rows.gets.Load()
	c.pass(seal.DefaultCacheTTL - 1)
	if _, err := ring.TenantByToken(t.Context(), tenant.Token()); err != nil || rows.gets.Load() != gets {
		t.Fatalf("cached tenant: %v after %d reads", err, rows.gets.Load()-gets)
	}
	// A K2 that another process destroys is usable here until its time is over.
	if err := other.DestroySubject(t.Context(), tenant.Token(), sid); err != nil {
		t.Fatal(err)
	}
	wantDestroyed(t, other, it, seal.LevelSubject)
	wantOpen(t, ring, it, "text")
	c.pass(1)
	wantDestroyed(t, ring, it, seal.LevelSubject)
	if _, err := ring.TenantByToken(t.Context(), tenant.Token()); err != nil {
		t.Fatal(err)
	}
}

func TestEvictNoticesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	other := newRing(t, w.rows, w.root, seal.Options{})
	it := put(t, w.ring, w.scope, "r1", "text")
	if err := other.DestroySubject(t.Context(), w.scope.Tenant, w.sid); err != nil {
		t.Fatal(err)
	}
	wantOpen(t, w.ring, it, "text")
	w.ring.Evict(w.scope.Tenant, w.sid)
	wantDestroyed(t, w.ring, it, seal.LevelSubject)
}

func TestBrokenStoreIsNotDestruction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	it := put(t, w.ring, w.scope, "r1", "text")
	ring := newRing(t, brokenRows{w.rows}, w.root, seal.Options{})
	_, openErr := ring.Open(t.Context(), it.Scope, it.Label, it.Sealed)
	_, recordErr := ring.Record(t.Context(), w.scope.Tenant, "r1")
	_, tenantErr := ring.TenantByToken(t.Context(), w.scope.Tenant)
	_, nameErr := ring.Tenant(t.Context(), "acme", true)
	_, _, createErr := ring.CreateRecord(t.Context(), w.scope, "r2", nil)
	for call, err := range map[string]error{
		"open": openErr, "record": recordErr, "tenant by token": tenantErr, "tenant": nameErr, "create": createErr,
		"destroy": ring.DestroySubject(t.Context(), w.scope.Tenant, w.sid),
		"rotate":  ring.RotateTenant(t.Context(), w.scope.Tenant),
	} {
		if !errors.Is(err, errBroken) || errors.Is(err, seal.ErrKeyDestroyed) || errors.Is(err, seal.ErrTampered) {
			t.Errorf("%s: %v, want the store's error alone", call, err)
		}
	}
	wantOpen(t, w.ring, it, "text")
}

func TestOtherRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	it := put(t, w.ring, w.scope, "r1", "text")
	ring := newRing(t, w.rows, newRoot(t), seal.Options{})
	if _, err := ring.Open(t.Context(), it.Scope, it.Label, it.Sealed); !errors.Is(err, seal.ErrOtherRoot) {
		t.Fatalf("open under another root: %v, want ErrOtherRoot", err)
	}
	if _, err := ring.Tenant(t.Context(), "acme", true); !errors.Is(err, seal.ErrOtherRoot) {
		t.Fatalf("tenant under another root: %v, want ErrOtherRoot", err)
	}
	wantOpen(t, w.ring, it, "text")
}
