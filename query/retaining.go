package query

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/tombstones/retention"
)

// RetainedViews are the views as retention asks them.
type RetainedViews struct{ views *projectors.Views }

var _ retention.Memories = RetainedViews{}

// NewRetainedViews returns views in the form that package retention asks for.
func NewRetainedViews(v *projectors.Views) RetainedViews { return RetainedViews{views: v} }

// WaitFor implements [retention.Memories].
func (v RetainedViews) WaitFor(ctx context.Context, position uint64) error {
	if err := v.views.WaitFor(ctx, position); err != nil {
		return fmt.Errorf("wait for position: %w", err)
	}
	return nil
}

// Episodes implements [retention.Memories].
func (v RetainedViews) Episodes(ctx context.Context, tenant, after string, limit int) ([]retention.Memory, string, error) {
	snap, err := v.views.Snapshot(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("open snapshot: %w", err)
	}
	defer snap.Close() //nolint:errcheck // A snapshot that was only read has nothing to lose.
	rows, next, err := snap.Episodes(tenant, projectors.EpisodeFilter{After: after, Limit: limit})
	if err != nil {
		return nil, "", fmt.Errorf("list episodes: %w", err)
	}
	page := make([]retention.Memory, len(rows))
	for i := range rows {
		page[i] = retention.Memory{
			Kind: events.KindEpisode, ID: rows[i].ID, Subject: rows[i].Subject, Class: rows[i].Class,
			RecordedAt: rows[i].RecordedAt,
		}
	}
	return page, next, nil
}

// Facts implements [retention.Memories].
func (v RetainedViews) Facts(ctx context.Context, tenant, after string, limit int) ([]retention.Memory, string, error) {
	snap, err := v.views.Snapshot(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("open snapshot: %w", err)
	}
	defer snap.Close() //nolint:errcheck // As above.
	rows, next, err := snap.FactsOf(tenant, "", after, limit)
	if err != nil {
		return nil, "", fmt.Errorf("list facts: %w", err)
	}
	page := make([]retention.Memory, len(rows))
	for i := range rows {
		page[i] = retention.Memory{
			Kind: events.KindFact, ID: rows[i].Fact, Subject: rows[i].Subject, Class: rows[i].Class, Status: rows[i].Status,
			RecordedAt: rows[i].RecordedAt, ChangedAt: rows[i].ChangedTime, ExpiresAt: rows[i].ExpiresAt,
			Waits:    rows[i].Status == events.StatusCandidate && (rows[i].Decision.Decision != "" || rows[i].Reopened > 0),
			Reopened: rows[i].Reopened > 0,
		}
		for _, src := range rows[i].Sources {
			if src.Subject != "" {
				page[i].Sources = append(page[i].Sources, src.Episode)
			}
		}
	}
	return page, next, nil
}
