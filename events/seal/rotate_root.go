package seal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// A rotation of the root takes all K1s along. What an old copy of the rows has of a
// K2 is wrapped under the K1 of then: were that still the one in use, who has it
// could open the copy with it, whatever became of the former root. So each K1 is
// replaced too, and the time between the steps is that of a rotation of a K1.

// RootEpochs returns the epochs of a root that rotates; they are zero with another.
func (k *Keyring) RootEpochs() RootEpochs {
	if root, ok := k.root.(RotatingRoot); ok {
		return root.Epochs()
	}
	return RootEpochs{}
}

// RotateRoot begins a new epoch of a [RotatingRoot], or takes up a rotation that
// is under way, re-wraps the rows under the root and gives every tenant a fresh K1,
// as [Keyring.RotateTenant] does; [Keyring.FinishRoot] ends it. With another root
// it does so for what retired roots wrapped, and when FinishRoot has returned nil
// and no process wraps under a retired root any more, that can be destroyed.
// Before it runs, all processes must have the new root, as their own or in
// [Options.Retired].
//
// A row that no root of this keyring wrapped is [ErrOtherRoot].
func (k *Keyring) RotateRoot(ctx context.Context) error {
	if root, ok := k.root.(RotatingRoot); ok {
		if err := k.beginRoot(ctx, root); err != nil {
			return err
		}
	}
	if err := k.rewrapRootShared(ctx); err != nil {
		return err
	}
	if !k.rootRotates() {
		return nil
	}
	return k.eachTenant(ctx, k.RotateTenant)
}

// rootRotates says whether there is a former root whose copies are to die.
func (k *Keyring) rootRotates() bool {
	if _, ok := k.root.(RotatingRoot); ok {
		return k.RootEpochs().Former != nil
	}
	return len(k.retired) > 0
}

// eachTenant does something for every tenant that is there when it begins. One
// that is destroyed meanwhile is passed over.
func (k *Keyring) eachTenant(ctx context.Context, do func(ctx context.Context, tenant string) error) error {
	var tenants []string
	for tenant, err := range k.Tenants(ctx) {
		if err != nil {
			return err
		}
		tenants = append(tenants, tenant)
	}
	for _, tenant := range tenants {
		if err := do(ctx, tenant); err != nil && !isDestroyed(err, LevelTenant) {
			return err
		}
	}
	return nil
}

func (k *Keyring) rewrapRootShared(ctx context.Context) error {
	k.wrapping.RLock()
	defer k.wrapping.RUnlock()
	return k.rewrapRoot(ctx)
}

func (k *Keyring) beginRoot(ctx context.Context, root RotatingRoot) error {
	k.wrapping.Lock()
	defer k.wrapping.Unlock()
	return wrapError("begin rotation of root", root.Rotate(ctx))
}

// FinishRoot destroys the former K1 of every tenant, re-wraps what is left under
// the former epoch of a [RotatingRoot], and destroys its key: every copy of the
// rows from before [Keyring.RotateRoot] is dead then, also for who has the keys of
// today. It waits for calls of this keyring that wrap under the root or a K1, and
// they for it. Other processes must not be wrapping under the former epoch any
// more, and must have let go of the former K1s, as for [Keyring.FinishTenant]: what
// they do is lost. If it fails the root is as it was, or a file is left that the
// next call destroys. Without a rotation under way it destroys nothing.
func (k *Keyring) FinishRoot(ctx context.Context) error {
	if k.rootRotates() {
		if err := k.finishTenants(ctx); err != nil {
			return err
		}
	}
	k.wrapping.Lock()
	defer k.wrapping.Unlock()
	if err := k.rewrapRoot(ctx); err != nil {
		return err
	}
	if root, ok := k.root.(RotatingRoot); ok {
		return wrapError("finish rotation of root", root.Finish(ctx))
	}
	return nil
}

// finishTenants leaves no tenant with a K1 from before the rotation, whatever part
// of it was interrupted.
func (k *Keyring) finishTenants(ctx context.Context) error {
	if err := k.eachTenant(ctx, k.RotateTenant); err != nil {
		return err
	}
	if err := k.Quiesce(ctx); err != nil {
		return err
	}
	return k.eachTenant(ctx, k.FinishTenant)
}

// rewrapRoot re-wraps the rows under the root. The caller holds
// [Keyring.wrapping].
func (k *Keyring) rewrapRoot(ctx context.Context) error {
	names := func(yield func(Row, error) bool) {
		row, err := k.rows.Get(ctx, namesKey)
		if !errors.Is(err, ErrNoRow) {
			yield(row, wrapError("read instance key", err))
		}
	}
	for _, rows := range []iter.Seq2[Row, error]{names, k.rows.List(ctx, "k1")} {
		err := k.rewrap(ctx, rows, func(row Row) (Row, bool, error) { return k.renewRoot(ctx, row) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *Keyring) renewRoot(ctx context.Context, row Row) (Row, bool, error) {
	id, _, err := splitRoot(row.Value)
	if err != nil || id == k.root.ID() {
		return Row{}, false, err
	}
	purpose, tenant := purposeNames, ""
	if row.Key != namesKey {
		purpose, tenant = purposeTenant, strings.TrimPrefix(row.Key, tenantRowKey(""))
	}
	plain, err := k.unwrapHeld(ctx, row.Value, purpose, tenant)
	if err != nil {
		return Row{}, false, fmt.Errorf("re-wrap under root: %w", err)
	}
	defer clear(plain)
	row.Value, err = k.wrapRoot(ctx, plain, purpose, tenant)
	return row, err == nil, err
}
