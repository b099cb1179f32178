package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/annals-memory/annals/events"
)

// ErrNotCovered says that a position is not covered by a checkpoint yet. Call
// [Ledger.Checkpoint] first.
var ErrNotCovered = errors.New("position is not covered by a checkpoint")

// ErrNoReceipt says that the ledger has no receipt of an erasure.
var ErrNoReceipt = errors.New("no receipt")

// Record writes tombstones and returns when the ledger has acknowledged all of
// them. After an error some may be there. To record one again does no harm.
func (l *Ledger) Record(ctx context.Context, list []Tombstone) error {
	for start := 0; start < len(list); {
		end := start + 1
		for end < len(list) && end-start < maxTombstones && list[end].Tenant == list[start].Tenant {
			end++
		}
		err := l.put(ctx, prefixTombstone+list[start].Tenant, tombstonesRecord{Tombstones: list[start:end]})
		if err != nil {
			return fmt.Errorf("record tombstones: %w", err)
		}
		start = end
	}
	return nil
}

// Erased names positions that are about to be deleted and returns when the
// ledger has acknowledged them: only then may they be. A position that no
// checkpoint covers is ErrNotCovered, and then nothing was written.
func (l *Ledger) Erased(ctx context.Context, e Erased) error {
	covered := l.Covered()
	for _, p := range e.Positions {
		if p == 0 || p > covered {
			return fmt.Errorf("record erased positions: %w", ErrNotCovered)
		}
	}
	return l.erase(ctx, e)
}

func (l *Ledger) erase(ctx context.Context, e Erased) error {
	l.mu.Lock()
	epoch := l.book.epoch
	l.mu.Unlock()
	for some := range slices.Chunk(e.Positions, maxErasedEntries) {
		err := l.put(ctx, prefixErased+e.Tenant, erasedRecord{Epoch: epoch, Erasure: e.Erasure, Positions: some})
		if err != nil {
			return fmt.Errorf("record erased positions: %w", err)
		}
	}
	return nil
}

// IsErased reports whether a position was named as erased, as far as this
// process has read the ledger, which it does at each checkpoint.
func (l *Ledger) IsErased(position uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, is := l.book.erased[position]
	return is
}

// Tombstones yields every tombstone that was recorded, in that order, perhaps
// some of them twice.
func (l *Ledger) Tombstones(ctx context.Context) iter.Seq2[Tombstone, error] {
	return ReadTombstones(ctx, l.config.Store)
}

// ReadTombstones yields every tombstone of a store, for who has no ledger yet:
// a restore.
func ReadTombstones(ctx context.Context, store Store) iter.Seq2[Tombstone, error] {
	return func(yield func(Tombstone, error) bool) {
		for m, err := range store.Read(ctx, anyTombstone, 0) {
			if err != nil {
				yield(Tombstone{}, fmt.Errorf("read tombstones: %w", err))
				return
			}
			list, err := decodeTombstones(m)
			if err != nil {
				yield(Tombstone{}, fmt.Errorf("read tombstones: %w", err))
				return
			}
			for _, t := range list {
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

// KeepReceipt writes the signed receipt of an erasure. A later one takes its
// place.
func (l *Ledger) KeepReceipt(ctx context.Context, erasure string, signed []byte) error {
	if err := l.put(ctx, prefixReceipt+erasure, receiptRecord{Note: string(signed)}); err != nil {
		return fmt.Errorf("keep receipt: %w", err)
	}
	return nil
}

// Receipt returns the last receipt that was kept of an erasure, or ErrNoReceipt.
func (l *Ledger) Receipt(ctx context.Context, erasure string) ([]byte, error) {
	if !events.ValidToken(erasure) {
		return nil, ErrNoReceipt
	}
	var last []byte
	for m, err := range l.config.Store.Read(ctx, prefixReceipt+erasure, 0) {
		if err != nil {
			return nil, fmt.Errorf("read receipt: %w", err)
		}
		var r receiptRecord
		if err := decodeRecord(m, &r); err != nil {
			return nil, err
		}
		last = []byte(r.Note)
	}
	if last == nil {
		return nil, ErrNoReceipt
	}
	return last, nil
}

// NewEpoch takes the tree back to a size and begins an epoch, after a restore
// has put an older log, or one with other messages behind that size, in place.
// No other process may use the log meanwhile. It writes the anchor.
func (l *Ledger) NewEpoch(ctx context.Context, size uint64) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.catchUp(ctx); err != nil {
		return fmt.Errorf("begin epoch: %w", err)
	}
	l.mu.Lock()
	c, err := l.book.checkpoint(ctx)
	l.mu.Unlock()
	if err != nil {
		return fmt.Errorf("begin epoch: %w", err)
	}
	if size > c.Size {
		return fmt.Errorf("begin epoch: %w", ErrNotCovered)
	}
	signed, err := l.signer.note(c.text())
	if err != nil {
		return fmt.Errorf("begin epoch: %w", err)
	}
	state, err := l.config.Log.State(ctx)
	if err != nil {
		return fmt.Errorf("begin epoch: %w", err)
	}
	r := epochRecord{Epoch: c.Epoch + 1, Size: size, PreviousSize: c.Size, PreviousRoot: c.Root.String(), Note: string(signed)}
	if state.Identity != c.Log {
		r.Log = state.Identity
	}
	if err := l.put(ctx, subjectEpoch, r); err != nil {
		return fmt.Errorf("begin epoch: %w", err)
	}
	if err := l.catchUp(ctx); err != nil {
		return fmt.Errorf("begin epoch: %w", err)
	}
	return l.anchorNow(ctx)
}

func (l *Ledger) put(ctx context.Context, subject string, v any) error {
	body, err := encodeRecord(v)
	if err != nil {
		return err
	}
	_, err = l.config.Store.Append(ctx, subject, body, events.ExpectAny)
	return err
}
