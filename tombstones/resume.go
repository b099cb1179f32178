package tombstones

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// resume finishes the tombstones of one commit. A commit that cannot be decoded
// is the views' to report: it does not stop the others. It tells of every erasure
// that it meets.
func (e *Eraser) resume(ctx context.Context, m events.Message, seen func(k erasureKey, principal string)) error {
	r, err := events.Decode(m)
	if err != nil {
		return nil //nolint:nilerr // Parked and shown by the views.
	}
	tenant, err := e.keys.TenantByToken(ctx, r.Aggregate.Tenant)
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find tenant: %w", err)
	}
	if err := e.copyChanges(ctx, ledger.ChangesOf(r)); err != nil {
		return err
	}
	j := &job{tenant: tenant, token: tenant.Token(), principal: r.Principal, repeated: true}
	for _, ev := range r.Events {
		g := ledger.Tombstone{Tenant: j.token, Kind: r.Aggregate.Kind, Aggregate: r.Aggregate.ID, Position: r.Position}
		var s *saga
		switch ev := ev.(type) {
		case events.EpisodeForgotten:
			g.Subject, g.Erasure = ev.Subject, ev.Erasure
			s = e.resumed(j, g)
			s.gone.episodes[g.Aggregate] = true
		case events.FactForgotten:
			g.Record, g.Subject, g.Erasure = ev.Fact, ev.Subject, ev.Erasure
			s = e.resumed(j, g)
		case events.SubjectForgotten:
			g.Subject, g.Erasure = g.Aggregate, ev.Erasure
			s = e.resumed(j, g)
			s.gone.subjects[g.Aggregate], s.subject = true, g.Aggregate
		case events.ConsentWithdrawn:
			if err := e.resumeWithdrawal(ctx, j, r.Aggregate.ID, ev, r.Position); err != nil {
				return err
			}
			continue
		default:
			continue
		}
		if err := s.resume(ctx, r.Position); err != nil {
			return err
		}
		seen(erasureKey{j.token, g.Erasure}, r.Principal)
	}
	return nil
}

func (e *Eraser) resumed(j *job, g ledger.Tombstone) *saga {
	s := e.newSaga(j, g.Erasure)
	s.bury([]ledger.Tombstone{g})
	return s
}

// resume finishes one tombstone. It looks for what was derived even if the key is
// gone: a fact that was being decided on meanwhile may have come into the log too
// late for the first call, from a process that ended before it could see to that.
func (s *saga) resume(ctx context.Context, position uint64) error {
	if s.subject != "" {
		s.dropName = s.dropOnce(ctx)
	}
	if err := s.readAccount(ctx, s.account); err != nil {
		return err
	}
	if err := s.record(ctx); err != nil {
		return err
	}
	if err := s.folded(ctx, position); err != nil {
		return err
	}
	if len(s.gone.episodes)+len(s.gone.subjects) > 0 {
		if _, err := s.cascade(ctx); err != nil {
			return err
		}
	}
	_, err := s.shredNow(ctx)
	return err
}

// dropOnce goes by the row of the subject's own key, which is removed last: while
// it is there, a name may lead to the subject.
func (s *saga) dropOnce(ctx context.Context) func() error {
	_, err := s.keys.Record(ctx, s.job.token, s.subject)
	gone, ok := errors.AsType[*seal.KeyDestroyedError](err)
	over := ok && gone.Level == seal.LevelRecord
	return func() error {
		if over {
			return nil
		}
		return s.job.tenant.DropSubjectID(ctx, s.subject)
	}
}

// folded waits for the views for as long as it takes: they may be rebuilding.
func (e *Eraser) folded(ctx context.Context, position uint64) error {
	if err := e.views.WaitFor(ctx, position); err != nil {
		return fmt.Errorf("wait for views: %w", err)
	}
	return nil
}

// tombstonesOf yields the tombstones of an erasure, page by page.
func tombstonesOf(s Graves, tenant, erasure string) iter.Seq2[Tombstone, error] {
	return func(yield func(Tombstone, error) bool) {
		for after := ""; ; {
			page, next, err := s.TombstonesOf(tenant, erasure, after, batchSize)
			if err != nil {
				yield(Tombstone{}, fmt.Errorf("list tombstones: %w", err))
				return
			}
			for _, t := range page {
				if !yield(t, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			after = next
		}
	}
}
