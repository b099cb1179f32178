package seal

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// DestroyRecord destroys the keys of records, which no keyring can open from
// then on: record keys are not cached. A record without a key is success.
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
	k.Evict(scope.Tenant, scope.Subject)
	defer k.Evict(scope.Tenant, scope.Subject)
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
	k.Evict(tenant, sid)
	defer k.Evict(tenant, sid)
	return k.destroyUnder(ctx, "k2."+tenant+"."+sid)
}

// DestroyTenant destroys a tenant's K1, and with it everything of the tenant,
// and then removes the rows below it, which open nothing any more.
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

// Garbage yields the ids of the tenant's records whose K2 is gone, so that
// nothing can open them: what [Keyring.DestroySubject] and
// [Keyring.DestroyClass] left behind for [Keyring.DestroyRecord]. It reads all
// record rows of the tenant. Removing a record's row also removes its note.
func (k *Keyring) Garbage(ctx context.Context, tenant string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if !isHashToken(tenant) {
			yield("", &TokenError{Field: "tenant"})
			return
		}
		// A record is created after its K2, so records must be listed first:
		// a record seen now whose K2 is not there afterwards has lost it.
		byKey := make(map[string][]string)
		prefix := "k3." + tenant
		for row, err := range k.rows.List(ctx, prefix) {
			if err != nil {
				yield("", fmt.Errorf("list record keys: %w", err))
				return
			}
			scope, _, err := splitRecordRow(tenant, row.Value)
			if err != nil {
				yield("", err)
				return
			}
			byKey[subjectRowKey(scope)] = append(byKey[subjectRowKey(scope)], row.Key[len(prefix)+1:])
		}
		keys := make([]string, 0, len(byKey))
		for key := range byKey {
			keys = append(keys, key)
		}
		alive, err := k.rows.GetMany(ctx, keys)
		if err != nil {
			yield("", fmt.Errorf("read subject keys: %w", err))
			return
		}
		for key, records := range byKey {
			if _, ok := alive[key]; ok {
				continue
			}
			for _, record := range records {
				if !yield(record, nil) {
					return
				}
			}
		}
	}
}
