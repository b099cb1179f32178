package seal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// A rotation of the root goes like one of a K1 or a K2, but needs no time between
// its steps: nothing below the root changes, so that no cache has anything old.

// RootEpochs returns the epochs of a root that rotates; they are zero with another.
func (k *Keyring) RootEpochs() RootEpochs {
	if root, ok := k.root.(RotatingRoot); ok {
		return root.Epochs()
	}
	return RootEpochs{}
}

// RotateRoot begins a new epoch of a [RotatingRoot], or takes up a rotation that
// is under way, and re-wraps the rows under the root; [Keyring.FinishRoot] ends
// it. With another root it re-wraps what retired roots wrapped under the current
// one, and when it has returned nil and no process wraps under a retired root any
// more, that can be destroyed. Before it runs, all processes must have the new
// root, as their own or in [Options.Retired].
//
// A row that no root of this keyring wrapped is [ErrOtherRoot].
func (k *Keyring) RotateRoot(ctx context.Context) error {
	if root, ok := k.root.(RotatingRoot); ok {
		if err := k.beginRoot(ctx, root); err != nil {
			return err
		}
	}
	k.wrapping.RLock()
	defer k.wrapping.RUnlock()
	return k.rewrapRoot(ctx)
}

func (k *Keyring) beginRoot(ctx context.Context, root RotatingRoot) error {
	k.wrapping.Lock()
	defer k.wrapping.Unlock()
	return wrapError("begin rotation of root", root.Rotate(ctx))
}

// FinishRoot re-wraps what is left under the former epoch of a [RotatingRoot], and
// destroys its key: every copy of the rows from before [Keyring.RotateRoot] is
// dead then. It waits for calls of this keyring that wrap under the root, and they
// for it. Other processes must not be wrapping under the former epoch any more:
// what they do is lost. If it fails nothing is destroyed, or all but a file that
// the next call destroys. Without a rotation under way it destroys nothing.
func (k *Keyring) FinishRoot(ctx context.Context) error {
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
