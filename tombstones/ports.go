package tombstones

import (
	"context"
	"iter"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// Ledger is where tombstones, holds and consents are a second time, and what says
// which positions of the log may be empty. It is a *ledger.Ledger.
type Ledger interface {
	Record(ctx context.Context, list []ledger.Tombstone) error
	RecordSubject(ctx context.Context, list []ledger.SubjectChange) error
	Erased(ctx context.Context, e ledger.Erased) error
	IsErased(position uint64) bool
	Covered() uint64
	Checkpoint(ctx context.Context) error
}

// Leftover is a message of the log that still has sealed content of what was
// forgotten.
type Leftover struct {
	// Subject is the id of the subject whose content it is.
	Subject string
	Erasure string
	// Position is that of the message.
	Position uint64
	// Mixed says that the message tells of something that is kept as well.
	Mixed bool
}

// Remains are what views know of, and have, of what was forgotten.
type Remains interface {
	// Leftovers yields what a tenant has left in the log, perhaps some twice.
	Leftovers(ctx context.Context, tenant string) iter.Seq2[Leftover, error]
	// LeftoverTenants yields the tenants that have some.
	LeftoverTenants(ctx context.Context) iter.Seq2[string, error]
	// Settle lets go of the leftovers that were deleted.
	Settle(ctx context.Context, deleted func(position uint64) bool) error
	// Purge makes deleted rows leave the disk.
	Purge(ctx context.Context) error
}

// LogBytes removes messages of the log and their bytes, on all replicas or, while one
// of them could keep them, on none. An absent one is success. An error that matches
// [events.ErrUnavailable] ends a round.
type LogBytes interface {
	SecureDelete(ctx context.Context, positions ...uint64) error
}

// Quarantine is where untrusted episodes wait.
type Quarantine interface {
	// Waiting yields the commits of a tenant that wait, as they would be logged.
	Waiting(ctx context.Context, tenant string) iter.Seq2[events.Message, error]
	// Remove removes an episode and its bytes. An absent one is success.
	Remove(ctx context.Context, tenant, id string) error
}

// Notary vouches for receipts. It is a *ledger.Ledger.
type Notary interface {
	Prove(ctx context.Context, position uint64) (ledger.Proof, error)
	Sign(text string) ([]byte, error)
	KeepReceipt(ctx context.Context, erasure string, signed []byte) error
	Receipt(ctx context.Context, erasure string) ([]byte, error)
}

// Purging is what removes bytes and says so. Of all but Recipients and Residues
// none may be absent.
type Purging struct {
	Remains    Remains
	Log        LogBytes
	Quarantine Quarantine
	Notary     Notary
	// Recipients are named in every receipt.
	Recipients []Recipient
	// Residues are what the deployment keeps of deleted messages, and are named in
	// every receipt: each has a deadline or says why it has none.
	Residues []Residue
}

func (p *Purging) complete() bool {
	return p.Remains != nil && p.Log != nil && p.Quarantine != nil && p.Notary != nil &&
		!slices.ContainsFunc(p.Residues, func(r Residue) bool { return r.Until == nil && r.Why == "" })
}
