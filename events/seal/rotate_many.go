package seal

import (
	"context"
	"errors"
	"fmt"
)

// RotateSubjects does what [Keyring.RotateSubject] does for many subjects of a
// tenant, and reads the record rows of the tenant once for all of them.
// [Keyring.FinishSubjects] ends it.
func (k *Keyring) RotateSubjects(ctx context.Context, tenant string, sids ...string) error {
	chains := make(map[Scope]chainKey)
	defer func() { wipeAll(chains) }()
	for _, sid := range sids {
		err := k.eachClass(ctx, tenant, sid, func(scope Scope) error {
			chain, err := k.begin(ctx, k.subjectLink(ctx, scope))
			if errors.Is(err, ErrKeyDestroyed) {
				return nil
			}
			if err == nil {
				chains[scope] = chain
			}
			return err
		})
		k.Evict(tenant, sid)
		if err != nil {
			return err
		}
	}
	return k.rewrapRecords(ctx, tenant, chains)
}

// FinishSubjects does what [Keyring.FinishSubject] does for many subjects of a
// tenant, under the same conditions.
func (k *Keyring) FinishSubjects(ctx context.Context, tenant string, sids ...string) error {
	type turn struct {
		link link
		row  Row
	}
	chains, turns := make(map[Scope]chainKey), make(map[Scope]turn)
	defer func() { wipeAll(chains) }()
	for _, sid := range sids {
		err := k.eachClass(ctx, tenant, sid, func(scope Scope) error {
			l := k.subjectLink(ctx, scope)
			row, chain, err := k.readLink(ctx, l)
			switch {
			case errors.Is(err, ErrKeyDestroyed):
				return nil
			case err != nil:
				return err
			case chain.previous.isZero():
				chain.wipe()
				return nil
			}
			chains[scope], turns[scope] = chain, turn{l, row}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := k.rewrapRecords(ctx, tenant, chains); err != nil {
		return err
	}
	for scope, t := range turns {
		chain := chains[scope]
		err := t.link.write(t.row, chainKey{seed: chain.seed, lineage: chain.lineage, current: chain.current})
		k.Evict(tenant, scope.Subject)
		if errors.Is(err, ErrRowConflict) {
			return ErrRotated
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rewrapRecords re-wraps the children of K2s.
func (k *Keyring) rewrapRecords(ctx context.Context, tenant string, chains map[Scope]chainKey) error {
	if len(chains) == 0 {
		return nil
	}
	parents := make(map[Scope]*parent, len(chains))
	for scope, chain := range chains {
		parents[scope] = newParent(chain, k.rand)
	}
	prefix := "k3." + tenant
	return k.rewrap(ctx, k.rows.List(ctx, prefix), func(row Row) (Row, bool, error) {
		scope, wrapped, err := splitRecordRow(tenant, row.Value)
		if err != nil {
			return Row{}, false, fmt.Errorf("read record key: %w", err)
		}
		p := parents[scope]
		if p == nil || wrapped.lineage != p.lineage {
			// Someone else's, or garbage from before this K2.
			return Row{}, false, nil
		}
		return p.renew(row, recordHeader, scope.appendRecordAAD(nil, row.Key[len(prefix)+1:], p.lineage))
	})
}
