package node

import (
	"context"
	"iter"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
)

// quarantined is the quarantine as reviewers read it.
type quarantined struct{ *natslog.Quarantine }

// List yields what a tenant has in quarantine, oldest first.
func (q quarantined) List(ctx context.Context, tenant string) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for waits, err := range q.Quarantine.List(ctx, tenant) {
			if !yield(waits.Message, err) {
				return
			}
		}
	}
}
