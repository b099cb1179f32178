package producers

import (
	"context"
	"hash/maphash"
)

// turns makes the commands of this process on one slot take turns, so that
// they do not make each other decide again and again. Correctness does not
// rest on it: the log's expected position does that, across processes.
type turns struct {
	seed  maphash.Seed
	seats []chan struct{}
}

const turnSeats = 256

func newTurns() turns {
	t := turns{seed: maphash.MakeSeed(), seats: make([]chan struct{}, turnSeats)}
	for i := range t.seats {
		t.seats[i] = make(chan struct{}, 1)
	}
	return t
}

// take waits for the turn of the id and returns the function that ends it.
func (t turns) take(ctx context.Context, id string) (done func(), err error) {
	seat := t.seats[maphash.String(t.seed, id)%turnSeats]
	select {
	case seat <- struct{}{}:
		return func() { <-seat }, nil
	case <-ctx.Done():
		return nil, ctx.Err() //nolint:wrapcheck // the context's error, as callers compare it.
	}
}
