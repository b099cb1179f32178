package projectors

import (
	"context"
	"errors"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors/index"
)

// Views are the serving generations of all projections. They are safe for concurrent use.
type Views struct{}

// Snapshot is all views as they stand at one moment: each consistent, at its own position. It must be closed, and soon: an
// open snapshot keeps deleted rows on disk.
type Snapshot struct{}

// Open opens the views in a folder, or begins them there. It starts nothing: see [Views.Run]. A view that was not built
// from this log, or by another version of its projection, is replaced by an empty generation that Run fills again.
func Open(ctx context.Context, cfg Config) (*Views, error) { return nil, errors.ErrUnsupported }

// Run follows the log with every view until the context ends or a view fails, and returns why. It may be called again.
func (v *Views) Run(ctx context.Context) error { return errors.ErrUnsupported }

// Close makes what is folded durable and closes the stores. Run must have returned. Snapshots that are still open keep
// their stores open.
func (v *Views) Close() error { return errors.ErrUnsupported }

// WaitFor returns when every serving view has folded the log up to the position. If the context ends first, the error
// matches [events.ErrBehind].
func (v *Views) WaitFor(ctx context.Context, position uint64) error { return errors.ErrUnsupported }

// Position returns the lowest position of the serving views.
func (v *Views) Position() uint64 { return 0 }

// Status tells where every view stands, in the order of their names.
func (v *Views) Status(ctx context.Context) []Status { return nil }

// Replay builds the next generation of a projection from the beginning of the log beside the serving one, compares the two
// at one position and hands over. If their digests differ the error matches [ErrDigest] and the serving one stays.
func (v *Views) Replay(ctx context.Context, name string, progress func(Progress)) (ReplayResult, error) {
	return ReplayResult{}, errors.ErrUnsupported
}

// Verify compares what a view says, what it holds, and what a fresh fold of the log gives, all at one position.
func (v *Views) Verify(ctx context.Context, name string, progress func(Progress)) (VerifyResult, error) {
	return VerifyResult{}, errors.ErrUnsupported
}

// RetryParked folds the parked commits of a projection again, in the order of the log within each aggregate.
func (v *Views) RetryParked(ctx context.Context, name string) (RetryResult, error) {
	return RetryResult{}, errors.ErrUnsupported
}

// Snapshot returns the views as they stand. It must be closed.
func (v *Views) Snapshot(ctx context.Context) (*Snapshot, error) { return nil, errors.ErrUnsupported }

// Close releases the snapshot.
func (s *Snapshot) Close() error { return errors.ErrUnsupported }

// Position returns the lowest of the positions of the views in the snapshot.
func (s *Snapshot) Position() uint64 { return 0 }

// Fact returns a fact by its id. [events.ErrNotFound] if there is none; a deleted or masked one, value-free, with
// [events.StatusDeleted].
func (s *Snapshot) Fact(tenant, id string) (FactRow, error) { return FactRow{}, errors.ErrUnsupported }

// SlotRevisions returns all revisions of all facts of a slot that are neither deleted nor masked, in the order in which they
// were recorded.
func (s *Snapshot) SlotRevisions(tenant, slot string) ([]Revision, error) {
	return nil, errors.ErrUnsupported
}

// Facts returns one page of a subject's facts, in a fixed order, and the cursor of the next page, empty if there is none.
func (s *Snapshot) Facts(tenant string, f FactFilter) (rows []FactAt, next string, err error) {
	return nil, "", errors.ErrUnsupported
}

// FactsBySource returns the facts taken from an episode, those that are masked too.
func (s *Snapshot) FactsBySource(tenant, episode string) ([]FactRow, error) {
	return nil, errors.ErrUnsupported
}

// FactsBySourceSubject returns the facts, of any subject, taken from episodes of a subject, those that are masked too.
func (s *Snapshot) FactsBySourceSubject(tenant, sid string) ([]FactRow, error) {
	return nil, errors.ErrUnsupported
}

// Reviews returns one page of the candidates whose decision is review or quarantine, oldest first, and the cursor of the
// next page.
func (s *Snapshot) Reviews(tenant, after string, limit int) (rows []FactRow, next string, err error) {
	return nil, "", errors.ErrUnsupported
}

// Episode returns an episode by its id, or its tombstone; [events.ErrNotFound] if there is neither.
func (s *Snapshot) Episode(tenant, id string) (EpisodeRow, error) {
	return EpisodeRow{}, errors.ErrUnsupported
}

// Episodes returns one page of episodes in the order of the log, and the cursor of the next page, empty if there is none.
// Tombstones are left out.
func (s *Snapshot) Episodes(tenant string, f EpisodeFilter) (rows []EpisodeRow, next string, err error) {
	return nil, "", errors.ErrUnsupported
}

// Candidates asks the search index. Facts with several valid intervals are indexed under the hull of them: check again.
func (s *Snapshot) Candidates(ctx context.Context, q index.Query) (index.Candidates, error) {
	return index.Candidates{}, errors.ErrUnsupported
}

// MemoryID names one memory.
type MemoryID struct {
	Kind    index.Kind
	ID      string
	Subject string
}

// MemoryIDs returns the first limit memories that pass the filter, and how many do in all. Unlike the search index it also
// knows candidates, and memories whose content could not be opened. A limit of zero or less is none.
func (s *Snapshot) MemoryIDs(tenant string, f index.Filter, limit int) (ids []MemoryID, total int, err error) {
	return nil, 0, errors.ErrUnsupported
}

// PositionAt returns the last position that was recorded at or before t, zero if there is none.
func (s *Snapshot) PositionAt(t time.Time) uint64 { return 0 }

// SubjectForgotten reports whether the subject has a tombstone in any view.
func (s *Snapshot) SubjectForgotten(tenant, sid string) bool { return false }

// SubjectErasure returns the erasure in the subject's tombstone, empty if it has none.
func (s *Snapshot) SubjectErasure(tenant, sid string) string { return "" }

// SubjectCounts returns how many episodes and facts, candidates included, are kept of the subject.
func (s *Snapshot) SubjectCounts(tenant, sid string) (episodes, facts int) { return 0, 0 }

// Tombstones returns one page of the tombstones of a tenant, and the cursor of the next page.
func (s *Snapshot) Tombstones(tenant, after string, limit int) (rows []Tombstone, next string, err error) {
	return nil, "", errors.ErrUnsupported
}

// Tombstone is what is left of a forgotten subject, episode or fact.
type Tombstone struct {
	Kind       events.Kind
	Subject    string
	ID         string
	Erasure    string
	Position   uint64
	RecordedAt time.Time
}

// Trace returns a trace by its id, or [events.ErrNotFound].
func (s *Snapshot) Trace(tenant, id string) (TraceRow, error) {
	return TraceRow{}, errors.ErrUnsupported
}
