package tombstones

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// lookAgain is how often erasures that wait for something are looked at without
// being told to: a hold may have been lifted by another process.
const lookAgain = time.Minute

// later has the background see to an erasure.
func (e *Eraser) later(a *account) {
	if a.state.Level.AtLeast(LevelBackupsDead) {
		return
	}
	e.unfinished.add(erasureKey{a.aggregate.Tenant, a.aggregate.ID}, a.state.Principal)
}

// restFactor is how much longer than a round of purging took the pause behind it
// is, so that a steady flow of forgets does not have the views rewritten without
// end. A pause is a minute at most.
const restFactor = 4

// carryOn takes unfinished erasures on until the context ends.
func (e *Eraser) carryOn(ctx context.Context) {
	pause := e.pause()
	for {
		wait := lookAgain
		began := e.now()
		failed, err := e.round(ctx)
		rest := min(e.now().Sub(began)*restFactor, lastRetry)
		if failed > 0 && ctx.Err() == nil {
			wait = pause.NextBackOff()
			e.logger.LogAttrs(ctx, slog.LevelError, "erasures are not finished",
				slog.Int("erasures", failed), slog.String("cause", err.Error()), slog.Duration("pause", wait))
		} else {
			pause.Reset()
		}
		if !sleep(ctx, nil, min(rest, wait)) || !sleep(ctx, e.unfinished.woken, wait) {
			return
		}
	}
}

// sleep waits for a time, or less if it is woken. It is false when the context has
// ended.
func sleep(ctx context.Context, woken <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-woken:
	case <-timer.C:
	}
	return true
}

// round, one at a time, takes every unfinished erasure as far as it gets. It tells how many
// failed, and one of the errors.
func (e *Eraser) round(ctx context.Context) (failed int, last error) {
	e.rounds.Lock()
	defer e.rounds.Unlock()
	var shredded []*account
	for _, k := range e.unfinished.list() {
		a, err := e.drive(ctx, k)
		switch {
		case ctx.Err() != nil:
			return failed, last
		case err != nil:
			failed, last = failed+1, err
		case a == nil, e.purging == nil && a.state.Level.AtLeast(LevelShredded):
			e.unfinished.remove(k)
		case a.state.Level.AtLeast(LevelPurged):
			e.purged(a)
		case a.state.Level.AtLeast(LevelShredded):
			shredded = append(shredded, a)
		}
	}
	if e.purging == nil {
		return failed, last
	}
	for {
		more, err := e.purge(ctx, shredded)
		if ctx.Err() != nil {
			return failed, last
		}
		if err != nil {
			failed, last = failed+1, err
		}
		shredded = slices.DeleteFunc(shredded, func(a *account) bool {
			done := a.state.Level.AtLeast(LevelPurged)
			if done {
				e.purged(a)
			}
			return done
		})
		if err != nil || !more {
			break
		}
	}
	n, err := e.outdated(ctx)
	if err != nil {
		last = err
	}
	return failed + n, last
}

// purged lets an erasure wait for the rotation of the root.
func (e *Eraser) purged(a *account) {
	if e.rotation != nil && !a.state.Level.AtLeast(LevelBackupsDead) {
		e.waiting.add(a.key(), a.state.Principal)
		e.judged = time.Time{}
	}
	e.unfinished.remove(a.key())
}

// drive takes one erasure to shredded, unless a hold or keys that are still
// queued keep it. An account of nil is that of a tenant that is gone.
func (e *Eraser) drive(ctx context.Context, k erasureKey) (*account, error) {
	a := accountOf(k.tenant, k.erasure)
	if err := e.readAccount(ctx, a); err != nil {
		return nil, err
	}
	if a.state.Level.AtLeast(LevelShredded) || e.queue.has(k) {
		return a, nil
	}
	tenant, err := e.keys.TenantByToken(ctx, k.tenant)
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return nil, nil //nolint:nilnil // There is nothing to account for.
	}
	if err != nil {
		return nil, err
	}
	j := &job{tenant: tenant, token: k.tenant, principal: a.state.Principal, erasure: k.erasure, repeated: true}
	if !a.state.Known() {
		j.principal = e.unfinished.principal(k)
	}
	s := e.newSaga(j, k.erasure)
	s.account = a
	if err := s.recollect(ctx); err != nil {
		return nil, err
	}
	if s.account.state.Level == "" {
		asked, err := e.reconstruct(ctx, a)
		if err != nil {
			return nil, err
		}
		if j.principal == token.Principal(tenant, keeper) {
			asked.Cause = events.CauseRetention
		}
		if err := s.begun(ctx, asked); err != nil {
			return nil, err
		}
	}
	last, err := s.cascade(ctx)
	if err != nil {
		return nil, err
	}
	done, err := s.shredNow(ctx)
	if err != nil {
		return nil, err
	}
	if !done {
		return a, s.heldBack(ctx)
	}
	if err := e.wait(ctx, last); err != nil {
		return nil, err
	}
	return a, s.shredded(ctx)
}

// recollect takes everything that the erasure has a tombstone on from the views,
// which must have folded them.
func (s *saga) recollect(ctx context.Context) error {
	return s.snapshot(ctx, func(snap Snapshot) error {
		for t, err := range tombstonesOf(snap, s.job.token, s.account.aggregate.ID) {
			if err != nil {
				return err
			}
			switch t.Kind { //nolint:exhaustive // Nothing else has tombstones.
			case events.KindSubject:
				s.subject, s.gone.subjects[t.ID] = t.ID, true
			case events.KindEpisode:
				s.gone.episodes[t.ID], s.dead[t.ID] = true, t.Subject
			default:
				s.dead[t.ID] = t.Subject
			}
		}
		if s.subject != "" {
			s.dropName = s.dropOnce(ctx)
		}
		return nil
	})
}
