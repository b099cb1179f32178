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

// finishKeys destroys the keys of an erasure and says how far it has come by
// now. If they are many, [Eraser.Run] destroys them after the answer. Of a
// repetition some or all may be gone. The views have folded all tombstones but
// those of the cascade, whose last is at the position.
func (e *Eraser) finishKeys(
	ctx context.Context, j *job, erasure string, ids []string, repeated bool, last uint64,
) (Level, error) {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if repeated && len(ids) > maxInline {
		var err error
		if ids, err = e.withKey(ctx, j.token, ids); err != nil {
			return "", err
		}
	}
	if len(ids) > maxInline {
		e.queue.put(j.token, erasure, ids)
		_, err := e.settled(ctx, last)
		return LevelDenied, err
	}
	if err := e.shred(ctx, j.token, ids); err != nil {
		return "", err
	}
	return e.settled(ctx, last)
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

// shred destroys the keys of records. A key that is gone is no error.
func (e *Eraser) shred(ctx context.Context, token string, ids []string) error {
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
		e.queue.done(s, id, err == nil)
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
