package seal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Garbage yields the ids of the tenant's records whose K2 is gone, even where a
// later one took its place, so that nothing can open them: what
// [Keyring.DestroySubject] and [Keyring.DestroyClass] left behind for
// [Keyring.Sweep]. It reads all record rows and all K2s of the tenant and keeps
// the records' ids in memory. An error ends the sequence.
func (k *Keyring) Garbage(ctx context.Context, tenant string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		prefix := len(recordRowKey(tenant, ""))
		for row, err := range k.garbage(ctx, tenant) {
			if err != nil {
				yield("", err)
				return
			}
			if !yield(row.Key[prefix:], nil) {
				return
			}
		}
	}
}

// Sweep removes the rows of the tenant's records that nothing can open, those of
// [Keyring.Garbage], their notes included, and says how many they were. The rows
// are dead bytes, and so they are not overwritten one by one: the store makes use
// of their space when it sees fit. Nothing that can be opened is touched, nor what
// keep, if it is not nil, reports true for. After
// an error some are gone, and the call can be repeated.
func (k *Keyring) Sweep(ctx context.Context, tenant string, keep func(record string) bool) (removed int, err error) {
	prefix := len(recordRowKey(tenant, ""))
	batch := make([]Row, 0, MaxCreate)
	discard := func() error {
		if err := k.rows.Discard(ctx, batch...); err != nil {
			return fmt.Errorf("remove keys that open nothing: %w", err)
		}
		k.kept.evict(keysOf(batch)...)
		removed += len(batch)
		batch = batch[:0]
		return nil
	}
	for row, err := range k.garbage(ctx, tenant) {
		if err != nil {
			return removed, err
		}
		if keep != nil && keep(row.Key[prefix:]) {
			continue
		}
		if batch = append(batch, row); len(batch) < MaxCreate {
			continue
		}
		if err := discard(); err != nil {
			return removed, err
		}
	}
	if len(batch) == 0 {
		return removed, nil
	}
	return removed, discard()
}

// garbage yields the keys and revisions of the records' rows that nothing opens.
func (k *Keyring) garbage(ctx context.Context, tenant string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if !isHashToken(tenant) {
			yield(Row{}, &TokenError{Field: "tenant"})
			return
		}
		// A record is created after its K2, so records must be listed first:
		// a record seen now whose K2 is not there afterwards has lost it.
		byScope, err := k.recordsByScope(ctx, tenant)
		if err != nil {
			yield(Row{}, err)
			return
		}
		for scopes := range slices.Chunk(slices.Collect(maps.Keys(byScope)), garbageChunk) {
			if err := k.yieldGarbage(ctx, scopes, byScope, yield); err != nil {
				if !errors.Is(err, errEnough) {
					yield(Row{}, err)
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

// listedRecord is where a record's row is, and the K2 that it was made under.
type listedRecord struct {
	row     Row
	lineage lineage
}

func (k *Keyring) recordsByScope(ctx context.Context, tenant string) (map[Scope][]listedRecord, error) {
	byScope := make(map[Scope][]listedRecord)
	for row, err := range k.rows.List(ctx, "k3."+tenant) {
		if err != nil {
			return nil, fmt.Errorf("list record keys: %w", err)
		}
		scope, wrapped, err := splitRecordRow(tenant, row.Value)
		if err != nil {
			return nil, err
		}
		byScope[scope] = append(byScope[scope], listedRecord{
			row: Row{Key: row.Key, Revision: row.Revision}, lineage: wrapped.lineage,
		})
	}
	return byScope, nil
}

func (k *Keyring) yieldGarbage(ctx context.Context, scopes []Scope, byScope map[Scope][]listedRecord, yield func(Row, error) bool) error {
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
			if !yield(record.row, nil) {
				return errEnough
			}
		}
	}
	return nil
}
