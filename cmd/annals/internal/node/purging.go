package node

import (
	"context"
	"fmt"
	"iter"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
)

// purging is what removes the bytes of what was forgotten from log, views and
// quarantine.
func (n *Node) purging(streams *natslog.Streams) *tombstones.Purging {
	return &tombstones.Purging{
		Remains: query.NewErasingViews(n.views), Log: streams.Eraser(), Quarantine: pens{streams.Quarantine()},
	}
}

// pens is the quarantine as the saga asks it.
type pens struct{ quarantine *natslog.Quarantine }

// Waiting implements [tombstones.Quarantine].
func (p pens) Waiting(ctx context.Context, tenant string) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for q, err := range p.quarantine.List(ctx, tenant) {
			if !yield(q.Message, err) {
				return
			}
		}
	}
}

// Remove implements [tombstones.Quarantine].
func (p pens) Remove(ctx context.Context, tenant, id string) error {
	if err := p.quarantine.Remove(ctx, tenant, id); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	return nil
}
