package producers

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
)

// RecordExport writes down that what is kept of a subject, given by its id, is
// about to be handed to the caller. The errors are ErrForbidden, ErrNotFound for a
// subject that nothing was written of, ErrForgotten for one with a tombstone, and
// the log's.
func (g *Gateway) RecordExport(ctx context.Context, caller events.Caller, subject string, e events.SubjectExported) (uint64, error) {
	if err := permit(caller, events.RoleAdmin, events.RoleAuditor); err != nil {
		return 0, err
	}
	t, err := g.tenant(ctx, caller.Tenant)
	if err != nil {
		return 0, err
	}
	agg := events.Aggregate{Tenant: t.Token(), Kind: events.KindSubject, ID: subject}
	for range maxTries {
		s, err := events.ReadSubject(ctx, g.log, agg.Tenant, agg.ID)
		switch {
		case err != nil:
			return 0, fmt.Errorf("record export: %w", err)
		case s.Position == 0:
			return 0, events.ErrNotFound
		case s.Erasure != "":
			return 0, events.ErrForgotten
		}
		ack, err := g.log.Append(ctx, events.Commit{
			ID: e.Export, Aggregate: agg, Time: g.clock(), Principal: token.Principal(t, caller.Principal),
			Events: []events.Event{e},
		}, events.Expect(s.Position))
		if errors.Is(err, events.ErrConflict) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("record export: %w", err)
		}
		return ack.Position, nil
	}
	return 0, fmt.Errorf("record export: %w", events.ErrConflict)
}
