package seal

import (
	"context"
	"errors"
	"fmt"
)

// Names turns tenant names into tokens under the instance key, which is drawn
// once per instance and never rotates: tokens are for ever.
type Names struct{ key Secret }

// TenantToken returns the token of a tenant: 26 characters of [a-z2-7], the same
// for the same bytes, and not to be guessed from the name without the instance
// key. Any string has one.
func (n *Names) TenantToken(tenant string) string { return keyedToken(n.key, "tenant", tenant) }

// Names returns the instance's names. When there is no instance key yet it makes
// one if create is set and returns [ErrUnknownTenant] otherwise, for no tenant
// can exist. Where tenants do exist, a missing instance key is damage and not a
// fresh start: the answer is [ErrKeyDestroyed] with [LevelInstance].
func (k *Keyring) Names(ctx context.Context, create bool) (*Names, error) {
	if names := k.names.Load(); names != nil {
		return names, nil
	}
	row, err := k.rows.Get(ctx, namesKey)
	if errors.Is(err, ErrNoRow) {
		if err := k.createNames(ctx, create); err != nil {
			return nil, err
		}
		row, err = k.rows.Get(ctx, namesKey)
	}
	if errors.Is(err, ErrNoRow) {
		return nil, &KeyDestroyedError{Level: LevelInstance}
	}
	if err != nil {
		return nil, fmt.Errorf("read instance key: %w", err)
	}
	plain, err := k.unwrapRoot(ctx, row.Value, purposeNames, "")
	if errors.Is(err, ErrOtherRoot) {
		if row, err = k.readAgain(ctx, row); err == nil {
			plain, err = k.unwrapRoot(ctx, row.Value, purposeNames, "")
		}
	}
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	if len(plain) != KeySize {
		return nil, ErrTampered
	}
	k.names.CompareAndSwap(nil, &Names{key: newSecret(plain)})
	return k.names.Load(), nil
}

// createNames makes the instance key, unless there are tenants already: then
// someone else was faster, or the key was lost.
func (k *Keyring) createNames(ctx context.Context, create bool) error {
	for _, err := range k.rows.List(ctx, "k1") {
		return wrapError("look for tenants", err)
	}
	if !create {
		return ErrUnknownTenant
	}
	key, err := drawSecret(k.rand)
	if err != nil {
		return err
	}
	defer key.wipe()
	k.wrapping.RLock()
	defer k.wrapping.RUnlock()
	value, err := k.wrapRoot(ctx, key.bytes(), purposeNames, "")
	if err != nil {
		return err
	}
	err = k.rows.Create(ctx, Row{Key: namesKey, Value: value})
	if err != nil && !errors.Is(err, ErrRowExists) {
		return fmt.Errorf("create instance key: %w", err)
	}
	return nil
}
