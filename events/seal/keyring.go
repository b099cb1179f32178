package seal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of [Options].
const (
	DefaultCacheSize    = 4096
	DefaultRowCacheSize = 32768
	DefaultCacheTTL     = time.Minute
)

// Options says how a keyring works.
type Options struct {
	// Now is the clock that cached keys age by. It is required.
	Now func() time.Time
	// Rand is the source of keys, ids and nonces, used by one goroutine at a
	// time; nil is the operating system's.
	Rand io.Reader
	// CacheSize is the largest number of unwrapped keys kept. Zero is
	// [DefaultCacheSize], below zero keeps none.
	CacheSize int
	// RowCacheSize is the largest number of rows kept as they are stored, sealed:
	// those of records and of subjects' names, some 600 bytes each. Zero is
	// [DefaultRowCacheSize], below zero keeps none; with a CacheSize below zero,
	// zero keeps none either.
	RowCacheSize int
	// CacheTTL is how long a key or a row is kept at most, and so how long a key
	// that another process destroyed can still be used here. Zero is
	// [DefaultCacheTTL].
	CacheTTL time.Duration
	// Retired are roots that may still unwrap, but wrap nothing new. They are
	// needed until [Keyring.RotateRoot] has succeeded. A [RotatingRoot] keeps its
	// former epoch itself.
	Retired []Root
}

// Keyring seals and opens with the keys of the chain. It is safe for concurrent
// use, and several keyrings in several processes may share the same rows. It
// starts no goroutines.
type Keyring struct {
	rows Rows
	root Root
	// retired has the other roots by their id.
	retired map[string]Root
	now     func() time.Time
	rand    source
	cache   *cache
	kept    *rowCache
	barred  *bars
	calls   calls
	names   atomic.Pointer[Names]

	// wrapping is held for reading by whoever wraps under the root until what it
	// wrapped is written, and for writing while the root changes.
	wrapping sync.RWMutex
}

// New returns a keyring over rows whose first keys root wraps. It reads nothing
// yet. A missing argument is [ErrOptions].
func New(rows Rows, root Root, opts Options) (*Keyring, error) {
	if rows == nil || root == nil || opts.Now == nil {
		return nil, fmt.Errorf("make keyring: rows, root and clock are required: %w", ErrOptions)
	}
	retired := make(map[string]Root, len(opts.Retired))
	for _, r := range opts.Retired {
		retired[r.ID()] = r
	}
	for _, r := range append([]Root{root}, opts.Retired...) {
		if id := r.ID(); id == "" || len(id) > maxRootID {
			return nil, fmt.Errorf("make keyring: root id of 1 to %d bytes: %w", maxRootID, ErrOptions)
		}
	}
	opts = opts.withDefaults()
	barred := newBars(opts.CacheTTL)
	return &Keyring{
		rows:    rows,
		root:    root,
		retired: retired,
		now:     opts.Now,
		rand:    newSource(opts.Rand),
		cache:   newCache(opts.CacheSize, opts.CacheTTL, barred),
		kept:    newRowCache(opts.RowCacheSize, opts.CacheTTL, barred),
		barred:  barred,
	}, nil
}

func (o Options) withDefaults() Options {
	if o.RowCacheSize == 0 {
		o.RowCacheSize = DefaultRowCacheSize
		if o.CacheSize < 0 {
			o.RowCacheSize = o.CacheSize
		}
	}
	if o.CacheSize == 0 {
		o.CacheSize = DefaultCacheSize
	}
	if o.CacheTTL == 0 {
		o.CacheTTL = DefaultCacheTTL
	}
	return o
}

// tenantKey gives the tenant's K1, which the caller wipes.
func (k *Keyring) tenantKey(ctx context.Context, tenant string) (chainKey, error) {
	if !isHashToken(tenant) {
		return chainKey{}, &TokenError{Field: "tenant"}
	}
	if chain, ok := k.cache.get(tenantRowKey(tenant), k.now()); ok {
		return chain, nil
	}
	return k.freshTenantKey(ctx, tenant)
}

// freshTenantKey reads the tenant's K1 whatever the cache holds, and caches it.
func (k *Keyring) freshTenantKey(ctx context.Context, tenant string) (chainKey, error) {
	key, asked, epoch := tenantRowKey(tenant), k.now(), k.cache.begin()
	row, err := k.rows.Get(ctx, key)
	if errors.Is(err, ErrNoRow) {
		return chainKey{}, &KeyDestroyedError{Level: LevelTenant}
	}
	if err != nil {
		return chainKey{}, fmt.Errorf("read tenant key: %w", err)
	}
	chain, err := k.unwrapTenant(ctx, tenant, row)
	if errors.Is(err, ErrOtherRoot) {
		// A rotation of the root may have ended since the row was read.
		if row, err = k.readAgain(ctx, row); err == nil {
			chain, err = k.unwrapTenant(ctx, tenant, row)
		}
	}
	if err != nil {
		return chainKey{}, err
	}
	k.cache.put(key, chain, asked, epoch)
	return chain, nil
}

// readAgain reads a row that no root opens, or returns [ErrOtherRoot] if it is
// what it was.
func (k *Keyring) readAgain(ctx context.Context, row Row) (Row, error) {
	again, err := k.rows.Get(ctx, row.Key)
	if errors.Is(err, ErrNoRow) || err == nil && again.Revision == row.Revision {
		return Row{}, ErrOtherRoot
	}
	return again, wrapError("read key again", err)
}

// newer reads a row again that did not open, and says whether it was written since:
// by a rotation that has ended meanwhile. One that is gone is [ErrNoRow].
func (k *Keyring) newer(ctx context.Context, row Row) (again Row, isNewer bool, err error) {
	again, err = k.rows.Get(ctx, row.Key)
	if err != nil {
		return Row{}, false, fmt.Errorf("read key again: %w", err)
	}
	return again, again.Revision != row.Revision, nil
}

// createTenantKey makes a K1, or reads that of whoever was faster.
func (k *Keyring) createTenantKey(ctx context.Context, tenant string) (chainKey, error) {
	current, err := drawSecret(k.rand)
	if err != nil {
		return chainKey{}, err
	}
	seed, err := drawSecret(k.rand)
	if err != nil {
		return chainKey{}, err
	}
	chain := chainKey{current: current, seed: seed}
	key, asked, epoch := tenantRowKey(tenant), k.now(), k.cache.begin()
	k.wrapping.RLock()
	value, err := k.wrapTenant(ctx, tenant, chain)
	if err == nil {
		err = k.rows.Create(ctx, Row{Key: key, Value: value})
	}
	k.wrapping.RUnlock()
	if errors.Is(err, ErrRowExists) {
		chain.wipe()
		return k.freshTenantKey(ctx, tenant)
	}
	if err != nil {
		return chainKey{}, fmt.Errorf("create tenant key: %w", err)
	}
	k.cache.put(key, chain, asked, epoch)
	return chain, nil
}

// subjectKeys gives the K2 of every scope, ready for use, and in the same round
// trip the rows of other keys. Scopes must have been checked. Those whose K2 or
// K1 cannot be had carry an error of their own. With fresh the cache is not
// asked: what it holds may be from before a rotation.
func (k *Keyring) subjectKeys(ctx context.Context, scopes map[Scope]*parent, also []string, fresh bool) (map[string]Row, error) {
	asked, epoch := k.now(), k.cache.begin()
	missing := make(map[Scope]*parent)
	tenants := make(map[string]tenantLookup)
	defer func() {
		for _, found := range tenants {
			found.chain.wipe()
		}
	}()
	keys := also
	for scope, p := range scopes {
		if chain, ok := k.cached(subjectRowKey(scope), asked, fresh); ok {
			p.use(chain, k.rand)
			p.cached = true
			continue
		}
		missing[scope] = p
		keys = append(keys, subjectRowKey(scope))
		if _, seen := tenants[scope.Tenant]; seen {
			continue
		}
		chain, ok := k.cached(tenantRowKey(scope.Tenant), asked, fresh)
		if !ok {
			keys = append(keys, tenantRowKey(scope.Tenant))
		}
		tenants[scope.Tenant] = tenantLookup{chain: chain, cached: ok}
	}
	rows, err := k.getMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	for tenant, t := range tenants {
		if !t.cached {
			tenants[tenant] = k.lookUpTenant(ctx, tenant, rows, asked, epoch)
		}
	}
	stale := make(map[Scope]*parent)
	for scope, p := range missing {
		t := tenants[scope.Tenant]
		chain, err := k.lookUpSubject(scope, t, rows)
		switch {
		case err == nil:
			k.cache.put(subjectRowKey(scope), chain, asked, epoch)
			p.use(chain, k.rand)
		case t.cached && errors.Is(err, ErrTampered):
			stale[scope] = p
		default:
			p.err = err
		}
	}
	if len(stale) > 0 {
		if _, err := k.subjectKeys(ctx, stale, nil, true); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// getMany asks for one row as one: that is much cheaper for a store than a
// request with many answers.
func (k *Keyring) getMany(ctx context.Context, keys []string) (map[string]Row, error) {
	switch len(keys) {
	case 0:
		return nil, nil
	case 1:
		row, err := k.rows.Get(ctx, keys[0])
		if errors.Is(err, ErrNoRow) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read key: %w", err)
		}
		return map[string]Row{row.Key: row}, nil
	}
	rows, err := k.rows.GetMany(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	return rows, nil
}

func (k *Keyring) cached(key string, now time.Time, fresh bool) (chainKey, bool) {
	if fresh {
		return chainKey{}, false
	}
	return k.cache.get(key, now)
}

// tenantLookup is a K1 on the way to the K2s below it.
type tenantLookup struct {
	chain  chainKey
	cached bool
	err    error
}

func (k *Keyring) lookUpTenant(ctx context.Context, tenant string, rows map[string]Row, asked time.Time, epoch uint64) tenantLookup {
	row, ok := rows[tenantRowKey(tenant)]
	if !ok {
		return tenantLookup{err: &KeyDestroyedError{Level: LevelTenant}}
	}
	chain, err := k.unwrapTenant(ctx, tenant, row)
	if errors.Is(err, ErrOtherRoot) {
		if chain, err = k.freshTenantKey(ctx, tenant); err == nil {
			return tenantLookup{chain: chain}
		}
	}
	if err != nil {
		return tenantLookup{err: err}
	}
	k.cache.put(row.Key, chain, asked, epoch)
	return tenantLookup{chain: chain}
}

func (k *Keyring) lookUpSubject(scope Scope, t tenantLookup, rows map[string]Row) (chainKey, error) {
	if t.err != nil {
		return chainKey{}, t.err
	}
	row, ok := rows[subjectRowKey(scope)]
	if !ok {
		return chainKey{}, &KeyDestroyedError{Level: LevelSubject}
	}
	return k.unwrapSubject(scope, t.chain, row.Value)
}

// createSubjectKey makes a K2, or reads that of whoever was faster.
func (k *Keyring) createSubjectKey(ctx context.Context, scope Scope, p *parent) error {
	k1, err := k.tenantKey(ctx, scope.Tenant)
	if err != nil {
		return err
	}
	defer k1.wipe()
	current, err := drawSecret(k.rand)
	if err != nil {
		return err
	}
	chain := chainKey{current: current}
	if _, err := io.ReadFull(k.rand, chain.lineage[:]); err != nil {
		return fmt.Errorf("draw lineage: %w", err)
	}
	asked, epoch := k.now(), k.cache.begin()
	value, err := k.wrapSubject(scope, k1, chain)
	if err != nil {
		return err
	}
	key := subjectRowKey(scope)
	err = k.rows.Create(ctx, Row{Key: key, Value: value})
	if errors.Is(err, ErrRowExists) {
		chain.wipe()
		again := map[Scope]*parent{scope: p}
		if _, err := k.subjectKeys(ctx, again, nil, false); err != nil {
			return err
		}
		return p.err
	}
	if err != nil {
		return fmt.Errorf("create subject key: %w", err)
	}
	k.cache.put(key, chain, asked, epoch)
	p.use(chain, k.rand)
	return p.err
}
