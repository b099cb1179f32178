package ledger

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// settleAtOnce is how many rows that were named are looked for with each anchor.
const settleAtOnce = 256

// coverKeys takes the account of the keys as far as they go. The caller makes
// checkpoints.
func (l *Ledger) coverKeys(ctx context.Context) error {
	l.mu.Lock()
	known, from := l.book.keys.known && !l.restoring, l.book.keys.last
	l.mu.Unlock()
	if !known {
		return l.takeStock(ctx)
	}
	last, err := l.reaches(ctx, l.config.Keys.State, func() uint64 { return from }, KindKeysShort)
	if err != nil {
		return err
	}
	var marks []seal.Mark
	if last > from {
		for row, err := range l.config.Keys.ReadRows(ctx, from) {
			if err != nil {
				return fmt.Errorf("read keys: %w", err)
			}
			if row.Revision > last {
				break
			}
			marks = append(marks, seal.MarkOf(row))
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// What was not there any more was named before.
	if err := l.book.read(ctx); err != nil {
		return err
	}
	if !l.book.keys.known || l.book.keys.last != from {
		return fmt.Errorf("read keys: %w: their account has begun anew", events.ErrUnavailable)
	}
	if err := l.book.extend(ctx, l.config.Keys, marks, last); err != nil {
		return err
	}
	return l.book.settleSome(ctx, l.config.Keys)
}

// keysAhead reports whether there are rows behind the account.
func (l *Ledger) keysAhead(ctx context.Context) (bool, error) {
	state, err := l.config.Keys.State(ctx)
	if err != nil {
		return false, fmt.Errorf("state of the keys: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return state.Last > l.book.keys.last, nil
}

// extend adds to the account what was read behind it, up to a revision.
func (b *book) extend(ctx context.Context, keys Keys, marks []seal.Mark, last uint64) error {
	fresh := account{last: last, stock: b.keys.stock, known: true}
	next := b.keys.last + 1
	hole := func(below uint64) error {
		for ; next < below; next++ {
			if b.removed.has(next) {
				continue
			}
			there, err := keys.HasRevision(ctx, next)
			switch {
			case err != nil:
				return fmt.Errorf("read keys: %w", err)
			case there:
				return fmt.Errorf("read keys: %w: one was left out", events.ErrUnavailable)
			}
			return &DamageError{Kind: KindKeysLost, Position: next, Missing: 1}
		}
		return nil
	}
	for _, m := range marks {
		if err := hole(m.Revision); err != nil {
			return err
		}
		if next = m.Revision + 1; !b.removed.has(m.Revision) {
			fresh.stock.add(m)
		}
	}
	if err := hole(last + 1); err != nil {
		return err
	}
	b.keys = fresh
	return nil
}

// settleSome looks whether what was named has gone, oldest first, and lets go of
// what has.
func (b *book) settleSome(ctx context.Context, keys Keys) error {
	for n := 0; len(b.pending) > 0; {
		first := &b.pending[0]
		for ; len(first.revisions) > 0; first.revisions = first.revisions[1:] {
			if n++; n > settleAtOnce {
				return nil
			}
			there, err := keys.HasRevision(ctx, first.revisions[0])
			if err != nil {
				return fmt.Errorf("read keys: %w", err)
			}
			if there {
				return nil
			}
		}
		b.pending = b.pending[1:]
	}
	return nil
}

// takeStock takes whatever rows there are for the account.
func (l *Ledger) takeStock(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.book.keys = account{}
	left, err := l.book.checkKeys(ctx, l.config.Keys)
	if err != nil {
		return err
	}
	return finishKeys(ctx, l.config.Keys, left)
}

// settledUpTo is the last record of the ledger up to which everything that was
// named is known to be gone.
func (b *book) settledUpTo() uint64 {
	if len(b.pending) == 0 {
		return b.records
	}
	return b.pending[0].position - 1
}
