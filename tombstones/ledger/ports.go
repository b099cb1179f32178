package ledger

import (
	"context"
	"iter"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// Log is what is read of the log.
type Log interface {
	Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error]
	State(ctx context.Context) (events.State, error)
	MessageAt(ctx context.Context, position uint64) (events.Message, error)
}

// Keys are the rows of wrapped keys. A position is the revision of a row, which no
// other row ever has, and there is none between the first and the last that no row
// ever had.
type Keys interface {
	// State tells where they stand: the last position that any of them was written
	// at never goes back.
	State(ctx context.Context) (events.State, error)
	// ReadRows yields all rows above a revision in their order, those that others
	// have taken the place of too unless they are removed, up to the last that was
	// acknowledged before the call or later.
	ReadRows(ctx context.Context, after uint64) iter.Seq2[seal.Row, error]
	// HasRevision reports whether there is a row of a revision. It sees every
	// removal that was acknowledged before the call.
	HasRevision(ctx context.Context, revision uint64) (bool, error)
	// Remove removes the rows of revisions, and unless it is plain their bytes.
	// Absent is success.
	Remove(ctx context.Context, plain bool, revisions ...uint64) error
}

// Store holds the records of the ledger, of which none can be removed.
type Store interface {
	// Append adds a record and returns its position when it is acknowledged. It
	// fails with events.ErrConflict if the last record on the subject is not the
	// one that is expected.
	Append(ctx context.Context, subject string, data []byte, expect events.Expect) (uint64, error)
	// Read yields the records above after on a subject, which may end in ".*", or
	// on any if it is "", in order, up to the last that was acknowledged before the
	// call.
	Read(ctx context.Context, subject string, after uint64) iter.Seq2[events.Message, error]
	State(ctx context.Context) (events.State, error)
}
