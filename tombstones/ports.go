package tombstones

import (
	"context"

	"github.com/annals-memory/annals/tombstones/ledger"
)

// Ledger is where tombstones are a second time, and what says which positions of
// the log may be empty. It is a *ledger.Ledger.
type Ledger interface {
	Record(ctx context.Context, list []ledger.Tombstone) error
	Erased(ctx context.Context, e ledger.Erased) error
	IsErased(position uint64) bool
	Covered() uint64
	Checkpoint(ctx context.Context) error
}
