package tombstones

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// Run finishes what a crash has cut off: it reads the log once, up to where it
// stood when Run was called, and takes every tombstone whose keys are still
// there through the rest of the saga. It then returns nil. The views must be
// running meanwhile. What it finds done it leaves alone, so that it can be run
// at any time and any number of times.
func (e *Eraser) Run(ctx context.Context) error {
	state, err := e.log.State(ctx)
	if err != nil {
		return fmt.Errorf("read state of the log: %w", err)
	}
	if state.Messages == 0 {
		return nil
	}
	wanted := map[string]bool{
		events.TypeEpisodeForgotten: true, events.TypeFactForgotten: true, events.TypeSubjectForgotten: true,
	}
	for m, err := range e.log.Follow(ctx, 0) {
		if err != nil {
			return fmt.Errorf("read tombstones: %w", err)
		}
		if m.Header.Has(wanted) {
			if err := e.resume(ctx, m); err != nil {
				return err
			}
		}
		if m.Position >= state.Last || m.Pending == 0 {
			return nil
		}
	}
	return nil
}

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

// resumeEpisode goes by the key: it is destroyed last.
func (e *Eraser) resumeEpisode(ctx context.Context, j *job, id, erasure string, position uint64) error {
	_, err := e.keys.Record(ctx, j.token, id)
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return e.shred(ctx, j.token, []string{id}) // only a useless row can be left
	}
	if err != nil {
		return fmt.Errorf("find record: %w", err)
	}
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

// resumeSubject goes by the subject's first event: while that opens, keys are
// left, and it says which name stood for the subject.
func (e *Eraser) resumeSubject(ctx context.Context, j *job, sid, erasure string, position uint64) error {
	name, alive, err := e.nameOf(ctx, j, sid)
	if err != nil {
		return err
	}
	if alive {
		if err := e.folded(ctx, position); err != nil {
			return err
		}
		j.erasure = erasure
		_, err := e.endSubject(ctx, j, erasure, sid, name)
		return err
	}
	if err := e.keys.DestroySubject(ctx, j.token, sid); err != nil {
		return fmt.Errorf("destroy keys: %w", err)
	}
	return nil
}

// nameOf opens the first event of a subject.
func (e *Eraser) nameOf(ctx context.Context, j *job, sid string) (name string, alive bool, err error) {
	agg := events.Aggregate{Tenant: j.token, Kind: events.KindSubject, ID: sid}
	for r, err := range e.log.ReadAggregate(ctx, agg, 0) {
		if err != nil {
			return "", false, fmt.Errorf("read subject: %w", err)
		}
		for _, ev := range r.Events {
			reg, ok := ev.(events.SubjectRegistered)
			if !ok {
				continue
			}
			plain, err := e.keys.Open(ctx,
				seal.Scope{Tenant: j.token, Subject: sid, Class: reg.Class},
				seal.Label{Aggregate: string(events.KindSubject), Record: sid, EventType: events.TypeSubjectRegistered},
				reg.Content)
			if errors.Is(err, seal.ErrKeyDestroyed) {
				return "", false, nil
			}
			if err != nil {
				return "", false, fmt.Errorf("open subject: %w", err)
			}
			var c events.SubjectContent
			if err := json.Unmarshal(plain, &c); err != nil {
				return "", false, fmt.Errorf("open subject: %w", events.ErrCorrupt)
			}
			return c.Name, true, nil
		}
	}
	return "", false, nil
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
