package node

import (
	"context"
	"iter"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/token"
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

// DeadlinesOf implements [query.Deadlines].
func (f inForce) DeadlinesOf(ctx context.Context, tenant string) (func(string, time.Time) time.Time, error) {
	periods, err := f.UnsettledOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return func(category string, proposed time.Time) time.Time {
		u, ok := periods.ByCategory[token.NFC(category)]
		if !ok {
			u = periods.Default
		}
		end, _ := u.Unreviewed.End(proposed)
		return end
	}, nil
}
