package projectors

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/annals-memory/annals/events"
)

// stalling is a log that delivers no message above a position.
type stalling struct {
	events.Follower
	at uint64
}

func (s stalling) Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for m, err := range s.Follower.Follow(ctx, after) {
			if !yield(m, err) {
				return
			}
			if m.Position >= s.at {
				break
			}
		}
		<-ctx.Done()
	}
}

// TestQuiet holds that the messages before one that was said to be pending, and was erased, do not wait for another, and that
// the positions at the end that hold nothing are passed.
func TestQuiet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.capture(t, "acme", "anna", "first")
	w.capture(t, "acme", "anna", "second")
	w.capture(t, "acme", "anna", "third")
	w.capture(t, "acme", "anna", "fourth")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cfg := Config{Log: stalling{Follower: w.log, at: 2}, quiet: defaultQuiet}
		out, done := make(chan chunk, 1), make(chan error, 1)
		began := time.Now()
		go func() { done <- read(ctx, &cfg, tracesSpec().itself, 0, 0, out) }()
		synctest.Wait() // the third and the fourth are pending
		if err := w.log.SecureDelete(ctx, 3, 4); err != nil {
			t.Error(err)
		}
		c := <-out
		if c.messages != 2 || c.last != (mark{position: 4}) || c.pending != 0 || time.Since(began) > 2*defaultQuiet {
			t.Errorf("after %v: %d messages up to %d, %d pending", time.Since(began), c.messages, c.last.position, c.pending)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("read: %v", err)
		}
		// Up to a position that holds nothing, at the end of the log.
		out, ctx = make(chan chunk, 2), t.Context()
		if err := read(ctx, &cfg, tracesSpec().itself, 0, 4, out); err != nil {
			t.Errorf("read: %v", err)
		}
		if c := <-out; c.messages != 2 || c.last.position != 2 {
			t.Errorf("%d messages up to %d", c.messages, c.last.position)
		}
		if c := <-out; c.messages != 0 || c.last != (mark{position: 4}) {
			t.Errorf("%d messages up to %d", c.messages, c.last.position)
		}
	})
}
