package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/annals-memory/annals/events"
)

// Progress is told how many positions of how many have been compared.
type Progress func(done, total uint64)

// progressEvery is how many positions are compared between two calls.
const progressEvery = 10_000

// start is what is known of a directory and a log before the records are read.
type start struct {
	signer    *signer // nil if there is no key
	anchor    *anchor // nil if there is none
	log, keys events.State
	records   events.State
}

// first reports whether nothing was ever anchored here, and may be now.
func (s start) first() bool { return s.anchor == nil }

// look reads key, anchor and states and holds them against each other. The
// anchor comes first: what is written meanwhile is behind it.
func look(ctx context.Context, c Config) (start, error) {
	var s start
	var err error
	if s.signer, err = loadSigner(c.Dir); errors.Is(err, fs.ErrNotExist) {
		var there bool
		if there, err = Anchored(c.Dir); there {
			s.signer, err = adoptSigner(c.Dir)
		}
	}
	if errors.Is(err, ErrBadKey) {
		return s, damage(KindKeyInvalid, 0)
	}
	if err != nil {
		return s, err
	}
	if s.signer != nil {
		a, _, err := readAnchor(c.Dir, s.signer.verify)
		switch {
		case err == nil:
			s.anchor = &a
		case !errors.Is(err, fs.ErrNotExist):
			return s, err
		}
	}
	if s.log, err = c.Log.State(ctx); err != nil {
		return s, fmt.Errorf("state of the log: %w", err)
	}
	if s.keys, err = c.Keys.State(ctx); err != nil {
		return s, fmt.Errorf("state of the keys: %w", err)
	}
	if s.records, err = c.Store.State(ctx); err != nil {
		return s, fmt.Errorf("state of the ledger: %w", err)
	}
	return s, s.fits(c.Join)
}

func (s start) fits(join bool) error {
	if s.anchor == nil {
		if s.records.Last > 0 && (!join || s.signer != nil) {
			return damage(KindAnchorMissing, 0)
		}
		if s.signer != nil && s.log.Last > 0 {
			return damage(KindAnchorMissing, 0)
		}
		return nil
	}
	switch {
	case s.anchor.Log != s.log.Identity:
		return damage(KindOtherLog, 0)
	case s.log.Last < s.anchor.Size:
		return damage(KindLogShort, s.log.Last)
	case s.records.Last < s.anchor.records:
		return damage(KindLedgerShort, s.records.Last)
	case s.keys.Last < s.anchor.keys.last:
		return damage(KindKeysShort, s.keys.Last)
	}
	return nil
}

// check reads the ledger and compares the log with it.
// It returns what of the keys was named to be removed and is there still.
func check(ctx context.Context, c Config, progress Progress) (*book, start, []removal, error) {
	s, err := look(ctx, c)
	if err != nil {
		return nil, s, nil, err
	}
	b := newBook(c.Store)
	b.anchor = s.anchor
	if s.signer != nil {
		b.ours = s.signer.verify
	}
	if err := b.load(ctx, s.records.Last); err != nil {
		return nil, s, nil, err
	}
	if b.log == "" {
		b.log = s.log.Identity
	}
	if b.log != s.log.Identity {
		return nil, s, nil, damage(KindOtherLog, 0)
	}
	if err := b.compare(ctx, c, max(s.log.Last, b.tree.size), progress); err != nil {
		return nil, s, nil, err
	}
	left, err := b.checkKeys(ctx, c.Keys)
	return b, s, left, err
}

// load reads the records, of which there are at least so many.
func (b *book) load(ctx context.Context, last uint64) error {
	err := b.read(ctx)
	if errors.Is(err, events.ErrUnavailable) && ctx.Err() == nil {
		// A ledger that answers, but not this, has lost it.
		if _, alive := b.store.State(ctx); alive == nil {
			return damage(KindLedgerUnreadable, b.records+1)
		}
	}
	if err == nil && b.records < last {
		return damage(KindLedgerHole, b.records+1)
	}
	return err
}

// compare holds every message of the log up to last against the tree.
func (b *book) compare(ctx context.Context, c Config, last uint64, progress Progress) error {
	state, err := c.Log.State(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("state of the log: %w", err)
	case state.Last < last:
		return damage(KindLogShort, state.Last)
	}
	next := uint64(1)
	leaves := &cursor{book: b, tree: b.tree.snapshot()}
	err = walk(ctx, c.Log, 0, last, c.Patience, func(m events.Message) error {
		for ; next < m.Position; next++ {
			if err := b.empty(ctx, c.Log, next); err != nil {
				return err
			}
		}
		want, covered, err := leaves.at(ctx, m.Position)
		switch {
		case err != nil:
			return err
		case covered && want != Leaf(m.Position, MessageHash(m)):
			return damage(KindLogDiffers, m.Position)
		}
		if next++; progress != nil && m.Position%progressEvery == 0 {
			progress(m.Position, last)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for ; next <= last; next++ {
		if err := b.empty(ctx, c.Log, next); err != nil {
			return err
		}
	}
	if progress != nil {
		progress(last, last)
	}
	return nil
}

// empty holds that a position that delivered nothing is empty, and may be.
func (b *book) empty(ctx context.Context, log Log, position uint64) error {
	there, err := present(ctx, log, position)
	switch {
	case err != nil:
		return err
	case there:
		return damage(KindLogUnreadable, position)
	}
	if _, legal := b.erased[position]; legal {
		return nil
	}
	// It may have been named since.
	if err := b.read(ctx); err != nil {
		return err
	}
	if _, legal := b.erased[position]; !legal {
		return damage(KindLogHole, position)
	}
	return nil
}

// cursor reads the leaves of a tree in order, a block at a time.
type cursor struct {
	book   *book
	tree   *tree
	block  uint64
	leaves []tlog.Hash
}

// at returns the leaf of a position, and false if the tree does not cover it.
func (c *cursor) at(ctx context.Context, position uint64) (tlog.Hash, bool, error) {
	index := position - 1
	if index >= c.tree.size {
		return tlog.Hash{}, false, nil
	}
	if block := index / blockLeaves; c.leaves == nil || block != c.block {
		c.block, c.leaves = block, c.tree.tail
		if block < c.tree.size/blockLeaves {
			var err error
			if c.leaves, err = c.book.leaves(ctx, c.tree, block); err != nil {
				return tlog.Hash{}, false, err
			}
		}
	}
	return c.leaves[index%blockLeaves], true, nil
}
