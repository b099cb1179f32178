package tombstones

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// resume finishes the tombstones of one commit. A commit that cannot be decoded
// is the views' to report: it does not stop the others.
func (e *Eraser) resume(ctx context.Context, m events.Message) error {
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
	j := &job{tenant: tenant, token: tenant.Token(), principal: r.Principal}
	for _, ev := range r.Events {
		switch ev := ev.(type) {
		case events.EpisodeForgotten:
			err = e.resumeEpisode(ctx, j, r.Aggregate.ID, ev.Erasure, r.Position)
		case events.FactForgotten:
			err = e.shred(ctx, j.token, []string{ev.Fact})
		case events.SubjectForgotten:
			err = e.resumeSubject(ctx, j, r.Aggregate.ID, ev.Erasure, r.Position)
		default:
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resumeEpisode looks for what was derived even if the episode's key is gone: a
// fact that was being decided on meanwhile may have come into the log too late
// for the first call, from a process that ended before it could see to that.
func (e *Eraser) resumeEpisode(ctx context.Context, j *job, id, erasure string, position uint64) error {
	if err := e.folded(ctx, position); err != nil {
		return err
	}
	j.erasure = erasure
	gone := newForgotten()
	gone.episodes[id] = true
	_, derived, err := e.cascade(ctx, j, erasure, gone)
	if err != nil {
		return err
	}
	return e.shred(ctx, j.token, append(derived, id))
}

// folded waits for the views for as long as it takes: they may be rebuilding.
func (e *Eraser) folded(ctx context.Context, position uint64) error {
	if err := e.views.WaitFor(ctx, position); err != nil {
		return fmt.Errorf("wait for views: %w", err)
	}
	return nil
}

// resumeSubject goes by the row of the subject's own key, which is removed last:
// while it is there, a name may lead to the subject.
func (e *Eraser) resumeSubject(ctx context.Context, j *job, sid, erasure string, position uint64) error {
	_, err := e.keys.Record(ctx, j.token, sid)
	gone, ok := errors.AsType[*seal.KeyDestroyedError](err)
	over := ok && gone.Level == seal.LevelRecord
	if err := e.folded(ctx, position); err != nil {
		return err
	}
	j.erasure = erasure
	_, err = e.endSubject(ctx, j, erasure, sid, func() error {
		if over {
			return nil
		}
		return j.tenant.DropSubjectID(ctx, sid)
	})
	return err
}

// tombstones yields all tombstones of a tenant, page by page.
func tombstones(s Snapshot, token string) iter.Seq2[Tombstone, error] {
	return func(yield func(Tombstone, error) bool) {
		for after := ""; ; {
			page, next, err := s.Tombstones(token, after, batchSize)
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
