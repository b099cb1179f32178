package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/annals-memory/annals/events"
)

const (
	// The log is looked at every glance. A checkpoint is made a second after the
	// last one, or as soon as a glance finds a thousand new messages.
	glance  = 250 * time.Millisecond
	between = time.Second
	// rivals is how often a checkpoint is tried again when others are quicker.
	rivals = 100
)

// Run makes checkpoints until the context ends, or until it finds damage, which
// it returns. That the log does not answer ends nothing.
func (l *Ledger) Run(ctx context.Context) error {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	last := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			made, err := l.glance(ctx, now.Sub(last) >= between)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				if _, is := AsDamage(err); is {
					return err
				}
				if l.Unanchored() != nil {
					last = now
				}
				l.config.Logger.LogAttrs(ctx, slog.LevelWarn, "no checkpoint; it will be tried again", slog.String("error", err.Error()))
			case made:
				last = now
			}
		}
	}
}

// glance makes a checkpoint if there is enough that is new.
func (l *Ledger) glance(ctx context.Context, due bool) (bool, error) {
	last, err := l.head(ctx)
	if err != nil {
		return false, err
	}
	covered := l.Covered()
	if due && l.Unanchored() != nil {
		return true, l.cover(ctx, last) // its anchor is missing, whether anything is new or not
	}
	if due && last <= covered {
		ahead, err := l.keysAhead(ctx)
		if err != nil || !ahead {
			return false, err
		}
		return true, l.cover(ctx, last)
	}
	if last <= covered || (!due && last-covered < maxLeaves) {
		return false, nil
	}
	return true, l.cover(ctx, last)
}

// head is the last position of the log. A log that ends before the tree does, and
// goes on to for as long as patience lasts, was set back: what it takes next would
// have the positions of what it lost.
func (l *Ledger) head(ctx context.Context) (uint64, error) {
	return l.reaches(ctx, l.config.Log.State, l.Covered, KindLogShort)
}

// reaches is the last position of what has reached a position before. It is damage
// of a kind if it does not again.
func (l *Ledger) reaches(
	ctx context.Context, look func(context.Context) (events.State, error), least func() uint64, short Kind,
) (uint64, error) {
	before := least()
	for waited := time.Duration(0); ; waited += glance {
		state, err := look(ctx)
		switch {
		case err != nil:
			return 0, fmt.Errorf("read state: %w", err)
		case state.Last >= before:
			return state.Last, nil
		case waited >= l.config.Patience:
			return 0, damage(short, state.Last)
		}
		timer := time.NewTimer(glance)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, fmt.Errorf("read state: %w", context.Cause(ctx))
		}
	}
}

// Checkpoint makes the tree cover what was in the log when it was called, and
// writes the anchor, whether there is anything new or not: an anchor that cannot
// be written is an error, even if the tree covers all. It needs no Run. A log
// that has become shorter than the tree is KindLogShort.
func (l *Ledger) Checkpoint(ctx context.Context) error {
	last, err := l.head(ctx)
	if err != nil {
		return fmt.Errorf("make checkpoint: %w", err)
	}
	return l.cover(ctx, last)
}

// cover makes the tree cover the positions up to last and writes the anchor.
func (l *Ledger) cover(ctx context.Context, last uint64) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	for range rivals {
		if err := l.catchUp(ctx); err != nil {
			return fmt.Errorf("make checkpoint: %w", err)
		}
		if l.Covered() >= last {
			break
		}
		if err := l.write(ctx, last); err != nil && !errors.Is(err, events.ErrConflict) {
			return fmt.Errorf("make checkpoint: %w", err)
		}
	}
	if l.Covered() < last {
		return fmt.Errorf("make checkpoint: %w: others are quicker", events.ErrUnavailable)
	}
	if err := l.anchorNow(ctx); err != nil {
		return fmt.Errorf("write anchor: %w", err)
	}
	return nil
}

// write adds records for the positions up to last. It is events.ErrConflict if
// another process added some.
func (l *Ledger) write(ctx context.Context, last uint64) error {
	var leaves []tlog.Hash
	next := l.Covered() + 1
	add := func(leaf tlog.Hash) error {
		next++
		if leaves = append(leaves, leaf); len(leaves) < maxLeaves {
			return nil
		}
		err := l.append(ctx, next-1-maxLeaves, leaves)
		leaves = leaves[:0]
		return err
	}
	fill := func(below uint64) error {
		for next < below {
			l.mu.Lock()
			err := l.book.empty(ctx, l.config.Log, next)
			l.mu.Unlock()
			if err != nil {
				return err
			}
			if err := add(Leaf(next, [tlog.HashSize]byte{})); err != nil {
				return err
			}
		}
		return nil
	}
	err := walk(ctx, l.config.Log, next-1, last, l.config.Patience, func(m events.Message) error {
		if err := fill(m.Position); err != nil {
			return err
		}
		return add(Leaf(m.Position, MessageHash(m)))
	})
	if err == nil {
		err = fill(last + 1)
	}
	if err == nil && len(leaves) > 0 {
		err = l.append(ctx, next-1-uint64(len(leaves)), leaves)
	}
	return err
}

// append writes one record of leaves that follow the first from ones, and reads
// it back with what came before. It is events.ErrConflict if the tree has
// another size.
func (l *Ledger) append(ctx context.Context, from uint64, leaves []tlog.Hash) error {
	l.mu.Lock()
	after, epoch, expect := l.book.tree.snapshot(), l.book.epoch, events.Expect(l.book.lastTree)
	c := Checkpoint{Log: l.book.log, Epoch: epoch}
	l.mu.Unlock()
	if after.size != from {
		return fmt.Errorf("append checkpoint: %w", events.ErrConflict)
	}
	r := treeRecord{Epoch: epoch, From: after.size}
	after.levels = cloneLevels(after.levels)
	after.index = nil // it is not asked for leaves
	for _, leaf := range leaves {
		r.Leaves = append(r.Leaves, leaf[:]...)
		after.add(leaf, 0)
	}
	r.Size, c.Size = after.size, after.size
	var err error
	if c.Root, err = after.root(ctx); err != nil {
		return err
	}
	signed, err := l.signer.note(c.text())
	if err != nil {
		return err
	}
	r.Note = string(signed)
	body, err := encodeRecord(r)
	if err != nil {
		return err
	}
	if _, err := l.config.Store.Append(ctx, subjectTree, body, expect); err != nil {
		return fmt.Errorf("append checkpoint: %w", err)
	}
	return l.catchUp(ctx)
}
