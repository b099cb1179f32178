package tombstones_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
)

// behind are views that say they are, if they are told to.
type behind struct {
	tombstones.Views

	is atomic.Bool
}

func (b *behind) WaitFor(ctx context.Context, position uint64) error {
	if b.is.Load() {
		return events.ErrBehind
	}
	return b.Views.WaitFor(ctx, position)
}

// Whose keys are replaced is read from the views. While those are behind, nothing is
// called replaced.
func TestPrepareRootWaitsForTheViews(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	id := n.Tell("maria", "Maria plays the cello.")
	g := &behind{Views: query.NewErasingViews(n.Views)}
	e, err := tombstones.New(tombstones.Config{
		Log: n.Events, Keys: n.Keys, Views: g, Now: n.Clock.Now, NewID: newID,
		Rotation: &tombstones.Rotation{
			DeadBefore: func() time.Time { return time.Time{} }, Due: func() time.Time { return time.Time{} },
		},
	})
	must(t, err)
	must(t, e.PrepareRoot(t.Context())) // it knows all erasures from now on
	n.bury("maria", id)
	for _, isBehind := range []bool{true, false} {
		g.is.Store(isBehind)
		if err := e.PrepareRoot(t.Context()); errors.Is(err, events.ErrBehind) != isBehind {
			t.Errorf("views behind: %t, and the preparation says %v", isBehind, err)
		}
	}
}
