package tombstones

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// maxInline is how many keys a call destroys before it answers. Destroying one
// takes some ten to twenty-five milliseconds, because its bytes are overwritten.
const maxInline = 32

// shred destroys the keys of an erasure and says whether all are gone. If they
// are many, [Eraser.Run] destroys them after the answer. What is held stays.
func (s *saga) shred(ctx context.Context) (done bool, err error) {
	ids, held, err := s.free(ctx)
	if err != nil {
		return false, err
	}
	if held {
		if err := s.heldBack(ctx); err != nil {
			return false, err
		}
	}
	if s.repeated && len(ids) > maxInline {
		if ids, err = s.withKey(ctx, s.job.token, ids); err != nil {
			return false, err
		}
	}
	if len(ids) > maxInline {
		s.queue.put(s.job.token, s.account.aggregate.ID, ids)
		return false, nil
	}
	return !held, s.destroy(ctx, ids, held)
}

// shredNow destroys the keys here and now, however many, and says whether all are
// gone.
func (s *saga) shredNow(ctx context.Context) (done bool, err error) {
	ids, held, err := s.free(ctx)
	if err != nil {
		return false, err
	}
	return !held, s.destroy(ctx, ids, held)
}

func (s *saga) destroy(ctx context.Context, ids []string, held bool) error {
	if err := s.shredAll(ctx, s.job.token, ids); err != nil {
		return err
	}
	if s.subject == "" || held {
		return nil
	}
	return s.shredSubject(ctx)
}

// free are the records that no hold keeps, and whether there are others. A held
// subject that goes as a whole keeps everything.
func (s *saga) free(ctx context.Context) (ids []string, held bool, err error) {
	if s.subject != "" {
		// The views may not have a hold yet that the log has.
		state, err := events.ReadSubject(ctx, s.log, s.job.token, s.subject)
		if err != nil {
			return nil, false, fmt.Errorf("look for holds: %w", err)
		}
		if len(state.Holds) > 0 {
			return nil, true, nil
		}
	}
	err = s.snapshot(ctx, func(snap Snapshot) error {
		if s.subject != "" && snap.Held(s.job.token, s.subject) {
			held = true
			return nil
		}
		for id, subject := range s.dead {
			if s.holds[subject] || snap.Held(s.job.token, subject) {
				held = true
				continue
			}
			ids = append(ids, id)
		}
		return nil
	})
	slices.Sort(ids)
	return ids, held, err
}

// heldBack enters that a hold keeps what is left.
func (s *saga) heldBack(ctx context.Context) error {
	return s.enter(ctx, s.job.principal, s.account, func(state *events.ErasureState) []events.Event {
		if state.Level != LevelDenied {
			return nil
		}
		return []events.Event{events.ErasureAdvanced{Level: LevelHeld}}
	})
}

// shredSubject removes the keys of a whole subject, and its name. The name goes
// after the keys, because the same call finds the subject by it again, should this
// be cut off; and the key of the subject's own first event goes last of all,
// because while its row is there something may be left.
func (s *saga) shredSubject(ctx context.Context) error {
	if err := s.keys.DestroySubject(ctx, s.job.token, s.subject); err != nil {
		return fmt.Errorf("destroy keys: %w", err)
	}
	if err := s.dropName(); err != nil {
		return fmt.Errorf("drop name: %w", err)
	}
	return s.shredAll(ctx, s.job.token, []string{s.subject})
}

// shredded enters that the cascade is over and no key is left.
func (s *saga) shredded(ctx context.Context) error {
	return s.enter(ctx, s.job.principal, s.account, func(state *events.ErasureState) []events.Event {
		if state.Level.AtLeast(LevelShredded) {
			return nil
		}
		n := len(s.dead)
		if s.subject != "" {
			n++
		}
		return []events.Event{
			events.ErasureAdvanced{Level: events.LevelCascaded},
			events.ErasureAdvanced{Level: LevelShredded, Stores: []events.StoreProgress{{Store: storeKeys, Planned: n, Done: n}}},
		}
	})
}

// withKey returns the records that have a key row, in whatever state it is.
func (e *Eraser) withKey(ctx context.Context, token string, ids []string) ([]string, error) {
	var left []string
	for _, id := range ids {
		_, err := e.keys.Record(ctx, token, id)
		gone, destroyed := errors.AsType[*seal.KeyDestroyedError](err)
		switch {
		case destroyed && gone.Level == seal.LevelRecord:
		case err == nil, destroyed, damaged(err):
			left = append(left, id)
		default:
			return nil, fmt.Errorf("look for keys: %w", err)
		}
	}
	return left, nil
}

// damaged says that a row is there and tells nothing.
func damaged(err error) bool {
	return errors.Is(err, seal.ErrTampered) || errors.Is(err, seal.ErrOtherRoot)
}

// shredAll destroys the keys of records. A key that is gone is no error.
func (e *Eraser) shredAll(ctx context.Context, token string, ids []string) error {
	for len(ids) > 0 {
		n := min(len(ids), batchSize)
		if err := e.keys.DestroyRecord(ctx, token, ids[:n]...); err != nil {
			return fmt.Errorf("destroy keys: %w", err)
		}
		ids = ids[n:]
	}
	return nil
}

// WaitShredded returns when the keys that forgets of this eraser have left to
// [Eraser.Run] are destroyed, or with the context's error. It does not know what
// other processes have left, nor what was cut off before the start.
func (e *Eraser) WaitShredded(ctx context.Context) error {
	select {
	case <-e.queue.drained():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for keys to be destroyed: %w", context.Cause(ctx))
	}
}

// work destroys what is queued until the context ends. What fails is tried
// again, and holds nothing else up.
func (e *Eraser) work(ctx context.Context) {
	pause := e.pause()
	for {
		var timer <-chan time.Time
		if failed, err := e.drain(ctx); failed > 0 && ctx.Err() == nil {
			next := pause.NextBackOff()
			e.logger.LogAttrs(ctx, slog.LevelError, "eraser could not destroy keys",
				slog.Int("keys", failed), slog.String("cause", err.Error()), slog.Duration("pause", next))
			timer = time.After(next)
		} else {
			pause.Reset()
		}
		select {
		case <-ctx.Done():
			return
		case <-e.queue.added:
		case <-timer:
		}
		e.queue.again()
	}
}

// drain destroys what is queued, key by key, and tells how many failed, and one
// of the errors. It stops when the rows cannot be reached at all.
func (e *Eraser) drain(ctx context.Context) (failed int, last error) {
	for ctx.Err() == nil {
		s, id, ok := e.queue.next()
		if !ok {
			break
		}
		err := e.keys.DestroyRecord(ctx, s.token, id)
		if e.queue.done(s, id, err == nil) {
			e.unfinished.wake() // it is that erasure's turn
		}
		if err == nil {
			continue
		}
		failed, last = failed+1, err
		if errors.Is(err, events.ErrUnavailable) {
			break
		}
	}
	return failed, last
}

// pause are the pauses between tries.
func (e *Eraser) pause() *backoff.ExponentialBackOff {
	p := backoff.NewExponentialBackOff()
	p.InitialInterval, p.MaxInterval = e.firstRetry, lastRetry
	return p
}
