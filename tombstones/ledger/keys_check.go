package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// keysLook is one reading of all rows.
type keysLook struct {
	upTo uint64 // where the account ends
	seen numbers
	// old are the rows up to there, fresh those behind it.
	old, fresh stock
}

func (k *keysLook) take(row seal.Row) {
	k.seen.add(row.Revision)
	k.part(row.Revision).add(seal.MarkOf(row))
}

func (k *keysLook) part(revision uint64) *stock {
	if revision <= k.upTo {
		return &k.old
	}
	return &k.fresh
}

// removed is told of a row that was named since the reading began.
func (k *keysLook) removed(m seal.Mark) {
	if k.seen.has(m.Revision) {
		k.part(m.Revision).remove(m)
	}
}

// checkKeys holds all rows against the account, and takes them for the account if
// there is none. What it finds wrong it looks at once more: a store may have
// failed to answer in full. It returns what was named and is there still.
func (b *book) checkKeys(ctx context.Context, keys Keys) ([]removal, error) {
	left, err := b.compareKeys(ctx, keys)
	if _, damaged := AsDamage(err); damaged && ctx.Err() == nil {
		left, err = b.compareKeys(ctx, keys)
	}
	if errors.Is(err, events.ErrUnavailable) && ctx.Err() == nil {
		// Keys that answer, but not this, have lost it.
		if _, alive := keys.State(ctx); alive == nil {
			return nil, damage(KindKeysUnreadable, 0)
		}
	}
	return left, err
}

func (b *book) compareKeys(ctx context.Context, keys Keys) ([]removal, error) {
	state, err := keys.State(ctx)
	if err != nil {
		return nil, fmt.Errorf("state of the keys: %w", err)
	}
	if state.Last < max(b.keys.last, b.written) { // as far as was known before it was asked
		return nil, damage(KindKeysShort, state.Last)
	}
	look := &keysLook{upTo: b.keys.last, seen: numbers{}}
	doomed := numbers{}
	for row, err := range keys.ReadRows(ctx, 0) {
		if err != nil {
			return nil, fmt.Errorf("read keys: %w", err)
		}
		switch {
		case row.Revision > state.Last: // written since
		case b.settled.has(row.Revision):
			return nil, damage(KindKeysRisen, row.Revision)
		case b.removed.has(row.Revision):
			doomed.add(row.Revision)
		default:
			look.take(row)
		}
		if row.Revision >= state.Last {
			break
		}
	}
	// A row that has gone meanwhile was named before.
	b.look = look
	err = b.read(ctx)
	b.look = nil
	if err != nil {
		return nil, err
	}
	if err := b.agreeKeys(look, state.Last); err != nil {
		return nil, err
	}
	look.old.join(look.fresh)
	b.keys = account{last: state.Last, stock: look.old, known: true}
	return b.left(doomed), nil
}

// agreeKeys holds what was read up to a revision against the account.
func (b *book) agreeKeys(look *keysLook, last uint64) error {
	switch {
	case !b.keys.known:
		return nil
	case look.old.count < b.keys.stock.count:
		return &DamageError{Kind: KindKeysLost, Missing: b.keys.stock.count - look.old.count}
	case look.old != b.keys.stock:
		return damage(KindKeysDiffer, 0)
	}
	for revision := b.keys.last + 1; revision <= last; revision++ {
		if !look.seen.has(revision) && !b.removed.has(revision) {
			return &DamageError{Kind: KindKeysLost, Position: revision, Missing: 1}
		}
	}
	return nil
}

// left is what of the pending removals is in a set.
func (b *book) left(in numbers) (list []removal) {
	if len(in) == 0 {
		return nil
	}
	for _, r := range b.pending {
		some := removal{position: r.position, plain: r.plain}
		for _, revision := range r.revisions {
			if in.has(revision) {
				some.revisions = append(some.revisions, revision)
			}
		}
		if len(some.revisions) > 0 {
			list = append(list, some)
		}
	}
	return list
}

// finishKeys ends removals that were cut off.
func finishKeys(ctx context.Context, keys Keys, left []removal) error {
	for _, r := range left {
		if err := keys.Remove(ctx, r.plain, r.revisions...); err != nil {
			return fmt.Errorf("remove keys that were named: %w", err)
		}
	}
	return nil
}

// CheckKeys reads all rows of the keys and returns a *[DamageError] unless they are
// those that there were, without the ones that were named in the ledger before they
// were removed. It can run while they are written.
func (l *Ledger) CheckKeys(ctx context.Context) error {
	s, err := look(ctx, l.config)
	if err != nil {
		return fmt.Errorf("check keys: %w", err)
	}
	b := newBook(l.config.Store)
	b.anchor, b.ours = s.anchor, l.signer.verify
	if err := b.load(ctx, s.records.Last); err != nil {
		return fmt.Errorf("check keys: %w", err)
	}
	if _, err := b.checkKeys(ctx, l.config.Keys); err != nil {
		return fmt.Errorf("check keys: %w", err)
	}
	return nil
}
