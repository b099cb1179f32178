package seal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// DestroyRecord destroys the keys of records, which this keyring cannot open
// from then on, and any other one that may have cached them when it is told by
// [Keyring.EvictRecord], or [Options.CacheTTL] later at most. A record without a
// key is success.
func (k *Keyring) DestroyRecord(ctx context.Context, tenant string, records ...string) error {
	if !isHashToken(tenant) {
		return &TokenError{Field: "tenant"}
	}
	keys := make([]string, len(records))
	for i, record := range records {
		if err := checkRecord(record); err != nil {
			return err
		}
		keys[i] = recordRowKey(tenant, record)
	}
	k.kept.evict(keys...)
	defer k.kept.evict(keys...)
	if err := k.rows.Destroy(ctx, keys...); err != nil {
		return fmt.Errorf("destroy record keys: %w", err)
	}
	return nil
}

// DestroyClass destroys one K2: what was kept of a subject under one consent
// category. Its absence is success.
func (k *Keyring) DestroyClass(ctx context.Context, scope Scope) error {
	if err := scope.check(); err != nil {
		return err
	}
	k.evictSubject(scope.Tenant, scope.Subject)
	defer k.evictSubject(scope.Tenant, scope.Subject)
	if err := k.rows.Destroy(ctx, subjectRowKey(scope)); err != nil {
		return fmt.Errorf("destroy subject key: %w", err)
	}
	return nil
}

// DestroySubject destroys all K2s of a subject, and with them everything sealed
// about it, whatever the number of records. The records' own rows stay behind as
// garbage that opens nothing: [Keyring.Garbage] lists them. The way from the
// outside name is removed by [Tenant.DropSubject].
func (k *Keyring) DestroySubject(ctx context.Context, tenant, sid string) error {
	switch {
	case !isHashToken(tenant):
		return &TokenError{Field: "tenant"}
	case !isHashToken(sid):
		return &TokenError{Field: "subject"}
	}
	k.evictSubject(tenant, sid)
	defer k.evictSubject(tenant, sid)
	return k.destroyUnder(ctx, "k2."+tenant+"."+sid)
}

// DestroyTenant destroys a tenant's K1, and with it everything of the tenant,
// and then removes the rows below it, which open nothing any more. It can be
// repeated, and must be until it returns nil before the tenant is created anew.
func (k *Keyring) DestroyTenant(ctx context.Context, tenant string) error {
	if !isHashToken(tenant) {
		return &TokenError{Field: "tenant"}
	}
	k.EvictTenant(tenant)
	defer k.EvictTenant(tenant)
	if err := k.rows.Destroy(ctx, tenantRowKey(tenant)); err != nil {
		return fmt.Errorf("destroy tenant key: %w", err)
	}
	return errors.Join(
		k.destroyUnder(ctx, "k2."+tenant),
		k.destroyUnder(ctx, "sid."+tenant),
		k.destroyUnder(ctx, "k3."+tenant),
	)
}

// destroyUnder destroys the rows under a prefix until a listing finds none, so
// that rows created meanwhile go too.
func (k *Keyring) destroyUnder(ctx context.Context, prefix string) error {
	for {
		var keys []string
		for row, err := range k.rows.List(ctx, prefix) {
			if err != nil {
				return fmt.Errorf("list keys to destroy: %w", err)
			}
			keys = append(keys, row.Key)
		}
		if len(keys) == 0 {
			return nil
		}
		if err := k.rows.Destroy(ctx, keys...); err != nil {
			return fmt.Errorf("destroy keys: %w", err)
		}
	}
}

// Garbage yields the ids of the tenant's records whose K2 is gone, even where a
// later one took its place, so that nothing can open them: what
// [Keyring.DestroySubject] and [Keyring.DestroyClass] left behind for
// [Keyring.DestroyRecord]. It reads all record rows and all K2s of the tenant
// and keeps the records' ids in memory. Removing a record's row also removes its
// note. An error ends the sequence.
func (k *Keyring) Garbage(ctx context.Context, tenant string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if !isHashToken(tenant) {
			yield("", &TokenError{Field: "tenant"})
			return
		}
		// A record is created after its K2, so records must be listed first:
		// a record seen now whose K2 is not there afterwards has lost it.
		byScope, err := k.recordsByScope(ctx, tenant)
		if err != nil {
			yield("", err)
			return
		}
		for scopes := range slices.Chunk(slices.Collect(maps.Keys(byScope)), garbageChunk) {
			if err := k.yieldGarbage(ctx, scopes, byScope, yield); err != nil {
				if !errors.Is(err, errEnough) {
					yield("", err)
				}
				return
			}
		}
	}
}

// garbageChunk bounds how many K2s are unwrapped at once.
const garbageChunk = 1000

// errEnough says that the caller of an iterator has seen enough.
var errEnough = errors.New("enough")

// recordID is a record and the K2 that it was made under.
type recordID struct {
	id      string
	lineage lineage
}

func (k *Keyring) recordsByScope(ctx context.Context, tenant string) (map[Scope][]recordID, error) {
	byScope := make(map[Scope][]recordID)
	prefix := "k3." + tenant
	for row, err := range k.rows.List(ctx, prefix) {
		if err != nil {
			return nil, fmt.Errorf("list record keys: %w", err)
		}
		scope, wrapped, err := splitRecordRow(tenant, row.Value)
		if err != nil {
			return nil, err
		}
		byScope[scope] = append(byScope[scope], recordID{id: row.Key[len(prefix)+1:], lineage: wrapped.lineage})
	}
	return byScope, nil
}

func (k *Keyring) yieldGarbage(ctx context.Context, scopes []Scope, byScope map[Scope][]recordID, yield func(string, error) bool) error {
	parents := make(map[Scope]*parent, len(scopes))
	for _, scope := range scopes {
		parents[scope] = &parent{}
	}
	if _, err := k.subjectKeys(ctx, parents, nil, true); err != nil {
		return err
	}
	for _, scope := range scopes {
		p := parents[scope]
		if p.err != nil && !errors.Is(p.err, ErrKeyDestroyed) {
			return p.err
		}
		for _, record := range byScope[scope] {
			if p.err == nil && record.lineage == p.lineage {
				continue
			}
			if !yield(record.id, nil) {
				return errEnough
			}
		}
	}
	return nil
}
