package seal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// Rotation of a K1 or a K2 has two steps. Rotate puts a fresh key in front of
// the old one and re-wraps the children; Finish, once every process has let go
// of its cached copy of the old key, re-wraps what was created in between and
// destroys the old key. Between the steps both keys open.
//
// Only what was destroyed before a rotation began is dead in old copies once it
// is finished. After a destruction, finish the rotation that may be under way
// and rotate again. The files of the store themselves are such a copy: until the
// end of a rotation they can have rows as they were before it, even of what was
// destroyed meanwhile, because children are re-wrapped by [Rows.Replace].

// RotateTenant gives a tenant a fresh K1 and re-wraps its K2s and subject ids
// under it. It can be repeated, and resumes what was interrupted. No token and
// no hash changes. [Keyring.FinishTenant] ends the rotation.
func (k *Keyring) RotateTenant(ctx context.Context, tenant string) error {
	if !isHashToken(tenant) {
		return &TokenError{Field: "tenant"}
	}
	chain, err := k.begin(ctx, k.tenantLink(ctx, tenant))
	k.EvictTenant(tenant)
	if err != nil {
		return err
	}
	defer chain.wipe()
	return k.rewrapTenant(ctx, tenant, chain)
}

// FinishTenant destroys the K1 that [Keyring.RotateTenant] replaced. It must not
// be called before the longest [Options.CacheTTL] of any process, and any call
// that was under way, has passed since: what a process still wraps under the old
// key after this is lost. Without a rotation under way it does nothing. It
// returns [ErrRotated] when someone else changed the key meanwhile.
func (k *Keyring) FinishTenant(ctx context.Context, tenant string) error {
	if !isHashToken(tenant) {
		return &TokenError{Field: "tenant"}
	}
	defer k.EvictTenant(tenant)
	return k.finish(ctx, k.tenantLink(ctx, tenant), func(chain chainKey) error {
		return k.rewrapTenant(ctx, tenant, chain)
	})
}

// RotateSubject gives a subject fresh K2s in every class and re-wraps its
// records under them. It reads all record rows of the tenant. It can be
// repeated, and resumes what was interrupted; [Keyring.FinishSubject] ends the
// rotation. A subject without keys is success.
func (k *Keyring) RotateSubject(ctx context.Context, tenant, sid string) error {
	return k.RotateSubjects(ctx, tenant, sid)
}

// FinishSubject destroys the K2s that [Keyring.RotateSubject] replaced, under
// the conditions of [Keyring.FinishTenant].
func (k *Keyring) FinishSubject(ctx context.Context, tenant, sid string) error {
	return k.FinishSubjects(ctx, tenant, sid)
}

// link is one key of the chain under rotation: how its row is read and written.
type link struct {
	key   string
	level Level
	read  func(Row) (chainKey, error)
	// write puts the chain into the row, which has been read.
	write func(Row, chainKey) error
}

func (k *Keyring) tenantLink(ctx context.Context, tenant string) link {
	return link{
		key:   tenantRowKey(tenant),
		level: LevelTenant,
		read:  func(row Row) (chainKey, error) { return k.unwrapTenant(ctx, tenant, row) },
		write: func(row Row, chain chainKey) (err error) {
			k.wrapping.RLock()
			defer k.wrapping.RUnlock()
			if row.Value, err = k.wrapTenant(ctx, tenant, chain); err != nil {
				return err
			}
			return k.put(ctx, row)
		},
	}
}

func (k *Keyring) subjectLink(ctx context.Context, scope Scope) link {
	return link{
		key:   subjectRowKey(scope),
		level: LevelSubject,
		read: func(row Row) (chainKey, error) {
			k1, err := k.freshTenantKey(ctx, scope.Tenant)
			if err != nil {
				return chainKey{}, err
			}
			defer k1.wipe()
			return k.unwrapSubject(scope, k1, row.Value)
		},
		write: func(row Row, chain chainKey) error {
			k1, err := k.freshTenantKey(ctx, scope.Tenant)
			if err != nil {
				return err
			}
			defer k1.wipe()
			if row.Value, err = k.wrapSubject(scope, k1, chain); err != nil {
				return err
			}
			return k.put(ctx, row)
		},
	}
}

// put overwrites the row of a key under rotation, physically: it had the key that
// the rotation ends, or will end.
func (k *Keyring) put(ctx context.Context, row Row) error {
	_, err := k.rows.Put(ctx, row)
	return wrapError("write rotated key", err)
}

func (k *Keyring) readLink(ctx context.Context, l link) (Row, chainKey, error) {
	row, err := k.rows.Get(ctx, l.key)
	if errors.Is(err, ErrNoRow) {
		return Row{}, chainKey{}, &KeyDestroyedError{Level: l.level}
	}
	if err != nil {
		return Row{}, chainKey{}, fmt.Errorf("read key to rotate: %w", err)
	}
	chain, err := l.read(row)
	return row, chain, err
}

// begin puts a fresh key in front, or takes up a rotation that is under way.
func (k *Keyring) begin(ctx context.Context, l link) (chainKey, error) {
	for {
		row, chain, err := k.readLink(ctx, l)
		if err != nil || !chain.previous.isZero() {
			return chain, err
		}
		fresh, err := drawSecret(k.rand)
		if err != nil {
			return chainKey{}, err
		}
		chain.previous, chain.current = chain.current, fresh
		if err = l.write(row, chain); err == nil {
			return chain, nil
		}
		chain.wipe()
		if !errors.Is(err, ErrRowConflict) {
			return chainKey{}, err
		}
	}
}

// finish drops the previous key once nothing is wrapped under it.
func (k *Keyring) finish(ctx context.Context, l link, rewrap func(chainKey) error) error {
	row, chain, err := k.readLink(ctx, l)
	if err != nil {
		return err
	}
	defer chain.wipe()
	if chain.previous.isZero() {
		return nil
	}
	if err := rewrap(chain); err != nil {
		return err
	}
	err = l.write(row, chainKey{seed: chain.seed, lineage: chain.lineage, current: chain.current})
	if errors.Is(err, ErrRowConflict) {
		return ErrRotated
	}
	return err
}

// rewrapTenant re-wraps the children of a K1.
func (k *Keyring) rewrapTenant(ctx context.Context, tenant string, chain chainKey) error {
	p := newParent(chain, k.rand)
	err := k.rewrap(ctx, k.rows.List(ctx, "k2."+tenant), func(row Row) (Row, bool, error) {
		scope, err := splitSubjectKey(row.Key)
		if err != nil {
			return Row{}, false, err
		}
		return p.renew(row, 0, scope.appendWrapAAD(nil))
	})
	if err != nil {
		return err
	}
	prefix := "sid." + tenant
	return k.rewrap(ctx, k.rows.List(ctx, prefix), func(row Row) (Row, bool, error) {
		return p.renew(row, 0, nameAAD(tenant, row.Key[len(prefix)+1:]))
	})
}

// renew moves a row from the previous to the current key of its parent, unless it
// is there already, and says whether it did. The row's first bytes are left as
// they are.
func (p *parent) renew(row Row, header int, aad []byte) (Row, bool, error) {
	if p.err != nil {
		return Row{}, false, p.err
	}
	if len(row.Value) < header {
		return Row{}, false, ErrTampered
	}
	wrapped := row.Value[header:]
	if plain, err := p.current.open(nil, wrapped, aad); err == nil {
		clear(plain)
		return Row{}, false, nil
	}
	plain, err := p.unwrap(nil, wrapped, aad)
	if err != nil {
		return Row{}, false, err
	}
	defer clear(plain)
	row.Value, err = p.current.seal(row.Value[:header:header], plain, aad)
	return row, err == nil, err
}

// rewrap writes what renew makes of rows. The former values
// are not erased: they die with the key that they are wrapped under.
func (k *Keyring) rewrap(ctx context.Context, rows iter.Seq2[Row, error], renew renewal) error {
	batch := make([]Row, 0, MaxCreate)
	for row, err := range rows {
		if err != nil {
			return fmt.Errorf("list keys to re-wrap: %w", err)
		}
		fresh, changed, err := renew(row)
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		if batch = append(batch, fresh); len(batch) < MaxCreate {
			continue
		}
		if err := k.replace(ctx, batch, renew); err != nil {
			return err
		}
		batch = batch[:0]
	}
	return k.replace(ctx, batch, renew)
}

// renewal makes of a row what it is to be, and says whether it differs.
type renewal func(Row) (Row, bool, error)

// replace writes re-wrapped rows. Those that were written by someone else
// meanwhile are made anew from what is there, and those that were destroyed stay
// destroyed.
func (k *Keyring) replace(ctx context.Context, batch []Row, renew renewal) error {
	for len(batch) > 0 {
		err := k.rows.Replace(ctx, batch...)
		if !errors.Is(err, ErrRowConflict) {
			return wrapError("write re-wrapped keys", err)
		}
		current, err := k.rows.GetMany(ctx, keysOf(batch))
		if err != nil {
			return fmt.Errorf("read keys to re-wrap: %w", err)
		}
		batch = batch[:0]
		for _, row := range current {
			fresh, changed, err := renew(row)
			if err != nil {
				return err
			}
			if changed {
				batch = append(batch, fresh)
			}
		}
	}
	return nil
}

// eachClass calls do for every K2 of a subject.
func (k *Keyring) eachClass(ctx context.Context, tenant, sid string, do func(Scope) error) error {
	switch {
	case !isHashToken(tenant):
		return &TokenError{Field: "tenant"}
	case !isHashToken(sid):
		return &TokenError{Field: "subject"}
	}
	for row, err := range k.rows.List(ctx, "k2."+tenant+"."+sid) {
		if err != nil {
			return fmt.Errorf("list subject keys: %w", err)
		}
		scope, err := splitSubjectKey(row.Key)
		if err != nil {
			return err
		}
		if err := do(scope); err != nil {
			return err
		}
	}
	return nil
}

func splitSubjectKey(key string) (Scope, error) {
	parts := strings.Split(key, ".")
	if len(parts) != 4 {
		return Scope{}, ErrBadKey
	}
	return Scope{Tenant: parts[1], Subject: parts[2], Class: parts[3]}, nil
}

func wipeAll(chains map[Scope]chainKey) {
	for _, chain := range chains {
		chain.wipe()
	}
}

// wrapError adds what was being done to an error, if there is one.
func wrapError(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
