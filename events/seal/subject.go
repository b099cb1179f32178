package seal

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// SubjectID returns the id that stands for an outside name, which is put into
// normalization form C first. When the name has none yet, a random one is made
// if create is set; otherwise the answer is [ErrUnknownSubject]. Concurrent
// creators all get the winner's id. The store is asked, whatever is cached: the
// answer is what the name stood for when the call began, or later.
func (t *Tenant) SubjectID(ctx context.Context, name string, create bool) (sid string, err error) {
	if name == "" {
		return "", fmt.Errorf("find subject: %w", ErrEmptyName)
	}
	if create {
		defer t.ring.calls.begin()()
	}
	hash := t.SubjectHash(name)
	asked, epoch := t.ring.now(), t.ring.kept.begin()
	row, err := t.ring.rows.Get(ctx, nameRowKey(t.token, hash))
	if errors.Is(err, ErrNoRow) {
		t.ring.kept.drop(nameRowKey(t.token, hash))
		if !create {
			return "", ErrUnknownSubject
		}
		if err := t.createSubject(ctx, hash); err != nil {
			return "", err
		}
		row, err = t.ring.rows.Get(ctx, nameRowKey(t.token, hash))
		if errors.Is(err, ErrNoRow) {
			// Dropped as soon as it was made: the caller may try again.
			return "", ErrUnknownSubject
		}
	}
	if err != nil {
		return "", fmt.Errorf("read subject id: %w", err)
	}
	sid, row, err = t.openRow(ctx, hash, row)
	if errors.Is(err, ErrNoRow) {
		return "", ErrUnknownSubject // dropped meanwhile
	}
	if err != nil {
		return "", err
	}
	t.ring.kept.put(row.Key, ownerOf(t.token, sid), row.Value, asked, epoch)
	return sid, nil
}

// FindSubject is [Tenant.SubjectID] without creation, from the cache if it can:
// for reads. A name that another process dropped, and may have given to another
// id since, stands for the former id until this keyring is told by
// [Keyring.Evict], or [Options.CacheTTL] later at most. Who decides by the answer
// what is written or destroyed asks [Tenant.SubjectID].
func (t *Tenant) FindSubject(ctx context.Context, name string) (sid string, err error) {
	if name == "" {
		return "", fmt.Errorf("find subject: %w", ErrEmptyName)
	}
	hash := t.SubjectHash(name)
	if value, ok := t.ring.kept.get(nameRowKey(t.token, hash), t.ring.now()); ok {
		sid, err := t.openSubject(ctx, hash, value)
		if err == nil {
			return sid, nil
		}
		// The row may be from before a rotation: the store knows.
	}
	return t.SubjectID(ctx, name, false)
}

// DropSubject removes the way from an outside name's hash, as
// [Tenant.SubjectHash] gives it, to the subject id. If the name stands for
// another id by now, or for none, nothing is changed. The name's next use makes
// a new id. It destroys no keys: see [Keyring.DestroySubject].
func (t *Tenant) DropSubject(ctx context.Context, sid, nameHash string) error {
	if !isHashToken(nameHash) {
		return &TokenError{Field: "name hash"}
	}
	return t.dropSubject(ctx, sid, nameHash)
}

// dropSubject removes a name's row as it stands when it has been looked into,
// never one that was made since: that of the name's next subject would be lost,
// and nobody could forget it by name.
func (t *Tenant) dropSubject(ctx context.Context, sid, nameHash string) error {
	key := nameRowKey(t.token, nameHash)
	defer t.ring.kept.evict(key)
	for {
		row, err := t.ring.rows.Get(ctx, key)
		if errors.Is(err, ErrNoRow) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read subject id: %w", err)
		}
		stored, row, err := t.openRow(ctx, nameHash, row)
		if errors.Is(err, ErrNoRow) {
			return nil
		}
		if err != nil || stored != sid {
			return err
		}
		t.ring.kept.evict(key)
		// After a conflict someone else has got on, by a rotation or a new subject.
		if err = t.ring.rows.DestroyAt(ctx, row); !errors.Is(err, ErrRowConflict) {
			return wrapError("drop subject id", err)
		}
	}
}

// DropSubjectID does what [Tenant.DropSubject] does, for who no longer knows the
// name: it reads all name rows of the tenant.
func (t *Tenant) DropSubjectID(ctx context.Context, sid string) error {
	prefix := "sid." + t.token
	for row, err := range t.ring.rows.List(ctx, prefix) {
		if err != nil {
			return fmt.Errorf("list subject ids: %w", err)
		}
		hash := row.Key[len(prefix)+1:]
		stored, _, err := t.openRow(ctx, hash, row)
		if errors.Is(err, ErrNoRow) {
			continue
		}
		if err != nil {
			return err
		}
		if stored != sid {
			continue
		}
		if err := t.dropSubject(ctx, sid, hash); err != nil {
			return err
		}
	}
	return nil
}

// createSubject makes an id for a name's hash, unless someone else was faster.
func (t *Tenant) createSubject(ctx context.Context, hash string) error {
	k1, err := t.ring.tenantKey(ctx, t.token)
	if err != nil {
		return err
	}
	defer k1.wipe()
	var id [idSize]byte
	if _, err := io.ReadFull(t.ring.rand, id[:]); err != nil {
		return fmt.Errorf("draw subject id: %w", err)
	}
	value, err := newParent(k1, t.ring.rand).wrap(id[:], nameAAD(t.token, hash))
	if err != nil {
		return err
	}
	err = t.ring.rows.Create(ctx, Row{Key: nameRowKey(t.token, hash), Value: value})
	if err != nil && !errors.Is(err, ErrRowExists) {
		return fmt.Errorf("create subject id: %w", err)
	}
	return nil
}

// openRow opens the row of a name, and returns it as it was then: one that a
// rotation has overtaken since it was read is read again.
func (t *Tenant) openRow(ctx context.Context, hash string, row Row) (sid string, _ Row, err error) {
	for {
		sid, err := t.openSubject(ctx, hash, row.Value)
		if !errors.Is(err, ErrTampered) {
			return sid, row, err
		}
		again, isNewer, readErr := t.ring.newer(ctx, row)
		if readErr != nil {
			return "", row, readErr
		}
		if !isNewer {
			return "", row, err
		}
		row = again
	}
}

// openSubject asks for the K1 itself when a cached one may be from before a
// rotation.
func (t *Tenant) openSubject(ctx context.Context, hash string, value []byte) (string, error) {
	k1, err := t.ring.tenantKey(ctx, t.token)
	if err != nil {
		return "", err
	}
	sid, err := t.unwrapSubjectID(k1, hash, value)
	if !errors.Is(err, ErrTampered) {
		return sid, err
	}
	if k1, err = t.ring.freshTenantKey(ctx, t.token); err != nil {
		return "", err
	}
	return t.unwrapSubjectID(k1, hash, value)
}

func (t *Tenant) unwrapSubjectID(k1 chainKey, hash string, value []byte) (string, error) {
	defer k1.wipe()
	id, err := newParent(k1, t.ring.rand).unwrap(nil, value, nameAAD(t.token, hash))
	if err != nil {
		return "", err
	}
	if len(id) != idSize {
		return "", ErrTampered
	}
	return encodeToken(id), nil
}

func nameAAD(tenant, hash string) []byte { return appendAAD(nil, purposeName, tenant, hash) }
