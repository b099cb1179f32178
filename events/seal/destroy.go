package seal

import (
	"context"
	"errors"
	"fmt"
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
// garbage that opens nothing: [Keyring.Sweep] removes them. The way from the
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
	return k.removeUnder(ctx, "k2."+tenant+"."+sid, k.destroy)
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
		k.removeUnder(ctx, "k2."+tenant, k.rows.Discard),
		k.removeUnder(ctx, "sid."+tenant, k.rows.Discard),
		k.removeUnder(ctx, "k3."+tenant, k.rows.Discard),
	)
}

// destroy removes rows physically.
func (k *Keyring) destroy(ctx context.Context, rows ...Row) error {
	return k.rows.Destroy(ctx, keysOf(rows)...)
}

// removeUnder removes the rows under a prefix until a listing finds none, so
// that rows created meanwhile go too.
func (k *Keyring) removeUnder(ctx context.Context, prefix string, remove func(context.Context, ...Row) error) error {
	for {
		var rows []Row
		for row, err := range k.rows.List(ctx, prefix) {
			if err != nil {
				return fmt.Errorf("list keys to destroy: %w", err)
			}
			rows = append(rows, Row{Key: row.Key, Revision: row.Revision})
		}
		if len(rows) == 0 {
			return nil
		}
		if err := remove(ctx, rows...); err != nil {
			return fmt.Errorf("destroy keys: %w", err)
		}
	}
}
