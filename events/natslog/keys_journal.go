package natslog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events/seal"
)

// MaxRemoval is how many rows a journal is told of at once, at most.
const MaxRemoval = seal.MaxCreate

// Journal is told which rows are about to be removed, so that a row that is gone
// without having been named there is known to be lost.
type Journal interface {
	// RemoveKeys returns when the removal is durable. Only then are the rows
	// removed. After an error none of them is.
	RemoveKeys(ctx context.Context, r seal.Removal) error
}

// Journaled returns the same rows for who tells j of every row before it is
// removed: one call for up to [MaxRemoval] rows that are removed together. Without
// a journal nobody is told.
func (k *Keys) Journaled(j Journal) *Keys { return &Keys{store: k.store, journal: j} }

// announce tells the journal, if there is one, of what is about to be removed.
func (k *Keys) announce(ctx context.Context, marks []seal.Mark, last uint64, plain bool) error {
	if k.journal == nil {
		return nil
	}
	for some := range slices.Chunk(marks, MaxRemoval) {
		if err := k.journal.RemoveKeys(ctx, seal.Removal{Marks: some, Last: last, Plain: plain}); err != nil {
			return fmt.Errorf("announce removal of rows: %w", err)
		}
	}
	return nil
}

// destroy removes all messages on the subjects of keys below a revision with their
// bytes, oldest first, having announced them: the last of each together, and one
// by one what an interrupted write has left before them.
func (k *Keys) destroy(ctx context.Context, below, last uint64, keys ...string) error {
	if err := k.refuse(); err != nil {
		return err // a row may be absent because its deletion failed
	}
	announced := map[uint64]bool{}
	if k.journal != nil && len(keys) > 1 {
		rows, err := k.GetMany(ctx, keys)
		if err != nil {
			return err
		}
		marks := make([]seal.Mark, 0, len(rows))
		for _, row := range rows {
			if row.Revision < below {
				marks = append(marks, seal.MarkOf(row))
				announced[row.Revision] = true
			}
		}
		if err := k.announce(ctx, marks, last, false); err != nil {
			return err
		}
	}
	for _, key := range keys {
		if err := k.destroyOne(ctx, key, below, last, announced); err != nil {
			return err
		}
	}
	return nil
}

func (k *Keys) destroyOne(ctx context.Context, key string, below, last uint64, announced map[uint64]bool) error {
	for {
		m, err := k.next(ctx, prefixKeys+key, 1)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return nil
		case err != nil:
			return translate("find row to remove", err)
		case m.Sequence >= below:
			return nil
		}
		if !announced[m.Sequence] {
			if err := k.announce(ctx, []seal.Mark{seal.MarkOf(toRow(m))}, last, false); err != nil {
				return err
			}
		}
		if err := k.secureDelete(ctx, m.Sequence); err != nil {
			return translate("remove row", err)
		}
	}
}

// Remove removes the rows of revisions that a journal has been told of, whatever
// their keys are: plainly, which leaves their bytes in the files, or with them.
// Absent is success. After an error some may be gone, and the call can be repeated.
func (k *Keys) Remove(ctx context.Context, plain bool, revisions ...uint64) error {
	for _, revision := range revisions {
		if revision == 0 || revision > math.MaxInt64 {
			continue
		}
		remove := k.secureDelete
		if plain {
			remove = k.plainDelete
		}
		if err := remove(ctx, revision); err != nil {
			return translate("remove row", err)
		}
	}
	return nil
}
