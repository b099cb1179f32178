package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/annals-memory/annals/events"
)

// errSilent ends a walk in which nothing came any more.
var errSilent = errors.New("the log is silent")

// walk calls f with every message above after and up to last, in order. It is
// KindLogUnreadable if the log has a message there and does not deliver it.
func walk(ctx context.Context, log Log, after, last uint64, patience time.Duration, f func(events.Message) error) error {
	end, err := lastFull(ctx, log, after, last)
	if err != nil || end <= after {
		return err
	}
	silent, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(patience, func() { cancel(errSilent) })
	defer timer.Stop()
	for m, err := range log.Follow(silent, after) {
		if err != nil {
			return fmt.Errorf("follow log: %w", err)
		}
		timer.Reset(patience)
		if m.Position > end {
			return damage(KindLogUnreadable, end)
		}
		after = m.Position
		if err := f(m); err != nil || after == end {
			return err
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("follow log: %w", ctx.Err())
	}
	return damage(KindLogUnreadable, after+1)
}

// lastFull is the last position up to last that is not empty, or after: nobody
// can wait for an empty one.
func lastFull(ctx context.Context, log Log, after, last uint64) (uint64, error) {
	for ; last > after; last-- {
		there, err := present(ctx, log, last)
		if there || err != nil {
			return last, err
		}
	}
	return after, nil
}

// present reports whether a position has a message.
func present(ctx context.Context, log Log, position uint64) (bool, error) {
	_, err := log.MessageAt(ctx, position)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, events.ErrNoCommits):
		return false, nil
	case errors.Is(err, events.ErrUnavailable) && ctx.Err() == nil:
		// A log that answers, but not this, has lost it.
		if _, alive := log.State(ctx); alive == nil {
			return false, damage(KindLogUnreadable, position)
		}
	}
	return false, fmt.Errorf("read message: %w", err)
}
