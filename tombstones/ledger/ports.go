package ledger

import (
	"context"
	"iter"

	"github.com/annals-memory/annals/events"
)

// Log is what is read of the log.
type Log interface {
	Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error]
	State(ctx context.Context) (events.State, error)
	MessageAt(ctx context.Context, position uint64) (events.Message, error)
}

// Keys tell where the wrapped keys stand: the last position that any of them was
// written at, which never goes back.
type Keys interface {
	State(ctx context.Context) (events.State, error)
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
