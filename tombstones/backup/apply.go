package backup

import (
	"context"
	"fmt"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// Log is what is read of the log that was put back, and written to it.
type Log interface {
	events.Appender
	events.AggregateReader
	events.Follower
}

// Eraser deletes messages of the log and their bytes.
type Eraser interface {
	SecureDelete(ctx context.Context, positions ...uint64) error
}

// Restored is what was put back. All of it is required.
type Restored struct {
	Log    Log
	Keys   *seal.Keyring
	Eraser Eraser
	// Ledger is on the log, the keys and the records that were put back. Its
	// directory has no anchor; without a key it gets a new one.
	Ledger ledger.Config
	Now    func() time.Time
	// NewID makes the ids of commits.
	NewID func() string
}

// Report is what a restore did, and what is lost.
type Report struct {
	// Epoch is the epoch that it has begun.
	Epoch uint64 `json:"epoch"`
	// Restored is the last position of the data. Known is the last one that the
	// ledger had seen; what is between is lost.
	Restored uint64 `json:"restored"`
	Known    uint64 `json:"known"`
	// LostFrom and LostTo are the first and last position of what is lost, and Lost
	// how many there are, all 0 if nothing is.
	LostFrom uint64 `json:"lost_from,omitzero"`
	LostTo   uint64 `json:"lost_to,omitzero"`
	Lost     uint64 `json:"lost"`
	// Tombstones is how many the ledger has, Appended how many of them were not in
	// the log, and Cascaded how many facts went because of them.
	Tombstones int `json:"tombstones"`
	Appended   int `json:"appended"`
	Cascaded   int `json:"cascaded"`
	// Held is how many of them kept their keys for a legal hold.
	Held int `json:"held"`
	// Changes is how many holds, ends of holds, consents and withdrawals were not in
	// the log and are again. Bare is how many of them are consents whose words, the
	// category's name and the basis, are lost.
	Changes int `json:"changes"`
	Bare    int `json:"bare_consents"`
	// Erased is how many positions are named as erased, and were deleted if the
	// data had them still.
	Erased int `json:"erased"`
	// NewKey says that the ledger has a new key, since no old one was given.
	NewKey bool `json:"new_key"`
}

// Apply applies the ledger to what was put back; see the package. After an error
// nothing of it may be served, and the restore begins anew.
func (p *Plan) Apply(ctx context.Context, r Restored, progress ledger.Progress) (Report, error) {
	state, err := r.Log.State(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("apply ledger: %w", err)
	}
	if state.Last != p.Data.Last {
		return Report{}, fmt.Errorf("apply ledger: %w: the log ends at %d, and its manifest says %d", ErrArtefact, state.Last, p.Data.Last)
	}
	if _, err := r.Keys.Names(ctx, false); err != nil && state.Last > 0 {
		return Report{}, fmt.Errorf("apply ledger: the root key does not open the keys: %w", err)
	}
	l, err := ledger.Recover(ctx, r.Ledger, ledger.Standing{Epoch: p.Data.Epoch, Last: p.Data.Last}, p.verify, p.anchors, progress)
	if err != nil {
		return Report{}, fmt.Errorf("apply ledger: %w", err)
	}
	out := Report{Epoch: l.Epoch + 1, Restored: p.Data.Last, Known: l.Size, Erased: len(l.Erased), NewKey: l.Verifier().KeyHash() != p.verify.KeyHash()}
	if l.Size > l.Common {
		out.LostFrom, out.LostTo, out.Lost = l.Common+1, l.Size, l.Size-l.Common
	}
	if err := l.Begin(ctx); err != nil {
		return Report{}, fmt.Errorf("apply ledger: %w", err)
	}
	if err := (&application{r: r, ledger: l, report: &out}).run(ctx); err != nil {
		return Report{}, fmt.Errorf("apply ledger: %w", err)
	}
	return out, nil
}
