package tombstones

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"github.com/annals-memory/annals/events"
)

// Run destroys the keys that large forgets have left to it, takes every erasure on
// to its end, and finishes what was cut off before it was called, as
// [Eraser.Finish] does, until the context ends. It does not return before, and then nil: what fails is tried again, with
// growing pauses. The views must be running meanwhile.
func (e *Eraser) Run(ctx context.Context) error {
	var g errgroup.Group
	g.Go(func() error {
		e.work(ctx)
		return nil
	})
	g.Go(func() error {
		e.persist(ctx)
		<-ctx.Done()
		return nil
	})
	g.Go(func() error {
		e.carryOn(ctx)
		return nil
	})
	if e.rotation != nil {
		g.Go(func() error {
			e.rotateOn(ctx)
			return nil
		})
	}
	return g.Wait() //nolint:wrapcheck // It is nil.
}

// Finish finishes what a crash has cut off: it reads the log once, up to where it
// stood when Finish was called, and takes every tombstone through the rest of the
// saga. A tombstone that cannot be finished does not stop the others; the error
// then matches [ErrUnfinished]. Any other error is the log's, and not all has
// been read. The views must be running meanwhile. What it finds done it leaves
// alone, so that it can be called at any time and any number of times.
func (e *Eraser) Finish(ctx context.Context) error {
	err := e.step(ctx, newPass())
	if _, cerr := e.round(ctx); cerr != nil && err == nil {
		err = fmt.Errorf("%w: %w", ErrUnfinished, cerr)
	}
	return err
}

// ErrUnfinished says that tombstones could not be taken through the saga.
var ErrUnfinished = errors.New("tombstones are not finished")

// pass is one pass over the log.
type pass struct {
	// begun says that end, the position up to which is read, is known.
	begun bool
	end   uint64
	// after is the position up to which has been read; over says that all has.
	after uint64
	over  bool
	// left are the commits that could not be finished.
	left []events.Message
	// seen are the erasures that were met, and who asked for them.
	seen map[erasureKey]string
}

func newPass() *pass { return &pass{seen: make(map[erasureKey]string)} }

// persist takes a pass on until nothing is left or the context ends.
func (e *Eraser) persist(ctx context.Context) {
	p := newPass()
	// Nothing but the end of the context ends it.
	_, _ = backoff.Retry(ctx, func() (struct{}, error) {
		if err := e.step(ctx, p); err != nil {
			// Hides what the error wraps, and could mean to the retry.
			return struct{}{}, &retryableError{err}
		}
		return struct{}{}, nil
	}, backoff.WithBackOff(e.pause()), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, next time.Duration) {
			e.logger.LogAttrs(ctx, slog.LevelError, "eraser retries",
				slog.Uint64("position", p.after), slog.String("cause", err.Error()), slog.Duration("pause", next))
		}))
}

// step reads on, or tries again what is left when all has been read. What it has
// met and finished is seen to from then on.
func (e *Eraser) step(ctx context.Context, p *pass) error {
	defer func() {
		for k, principal := range p.seen {
			e.unfinished.add(k, principal)
		}
		clear(p.seen)
		if p.over {
			e.met.Store(true)
		}
	}()
	if p.over {
		again := p.left
		p.left = nil
		for i, m := range again {
			if err := e.attempt(ctx, p, m); err != nil {
				p.left = append(p.left, again[i:]...)
				return err
			}
		}
	} else if err := e.readOn(ctx, p); err != nil {
		return err
	}
	if len(p.left) > 0 {
		return fmt.Errorf("%w: %d commits", ErrUnfinished, len(p.left))
	}
	return nil
}

// readOn reads the log up to the end of the pass.
func (e *Eraser) readOn(ctx context.Context, p *pass) error {
	if !p.begun {
		state, err := e.log.State(ctx)
		if err != nil {
			return fmt.Errorf("read state of the log: %w", err)
		}
		p.begun, p.end, p.over = true, state.Last, state.Messages == 0
	}
	if p.over {
		return nil
	}
	wanted := map[string]bool{
		events.TypeEpisodeForgotten: true, events.TypeFactForgotten: true, events.TypeSubjectForgotten: true,
		events.TypeConsentWithdrawn: true,
		// The ledger may not know of these.
		events.TypeSubjectHeld: true, events.TypeSubjectReleased: true, events.TypeConsentGranted: true,
	}
	for m, err := range e.log.Follow(ctx, p.after) {
		if err != nil {
			return fmt.Errorf("read tombstones: %w", err)
		}
		if m.Header.Has(wanted) {
			if err := e.attempt(ctx, p, m); err != nil {
				return err
			}
		}
		p.after = m.Position
		if m.Position >= p.end || m.Pending == 0 {
			p.over = true
			return nil
		}
	}
	return fmt.Errorf("read tombstones: %w", events.ErrUnavailable)
}

// attempt finishes one commit, or keeps it for later. The error says that there
// is no sense in going on now.
func (e *Eraser) attempt(ctx context.Context, p *pass, m events.Message) error {
	err := e.resume(ctx, m, func(k erasureKey, principal string) { p.seen[k] = principal })
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil || errors.Is(err, events.ErrUnavailable):
		return err
	}
	if !p.over {
		e.logger.LogAttrs(ctx, slog.LevelError, "eraser leaves a tombstone for later",
			slog.Uint64("position", m.Position), slog.String("cause", err.Error()))
	}
	p.left = append(p.left, m)
	return nil
}

// retryableError hides what an error wraps.
type retryableError struct{ err error }

// Error is that of the hidden error.
func (e *retryableError) Error() string { return e.err.Error() }
