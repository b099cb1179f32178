package backup

import (
	"context"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// restate appends the holds, releases, consents and withdrawals that the log does not
// have, each subject's in their order.
func (a *application) restate(ctx context.Context) error {
	missing := map[events.Aggregate][]ledger.SubjectChange{}
	var order []events.Aggregate
	for _, c := range a.ledger.Changes {
		agg := events.Aggregate{Tenant: c.Tenant, Kind: events.KindSubject, ID: c.Subject}
		if missing[agg] == nil {
			order = append(order, agg)
		}
		missing[agg] = append(missing[agg], c)
	}
	for chunk := range slices.Chunk(order, commitsAtOnce) {
		lists := map[events.Aggregate][]events.Event{}
		for _, agg := range chunk {
			list, err := a.changesOf(ctx, agg, missing[agg])
			if err != nil {
				return err
			}
			lists[agg] = list
		}
		chunk = slices.DeleteFunc(chunk, func(agg events.Aggregate) bool { return len(lists[agg]) == 0 })
		if err := a.append(ctx, chunk, lists); err != nil {
			return err
		}
	}
	return nil
}

// changesOf are the events of the changes that change something. A withdrawal always
// does: it forgets what has come since the one before.
func (a *application) changesOf(ctx context.Context, agg events.Aggregate, list []ledger.SubjectChange) ([]events.Event, error) {
	state, err := events.ReadSubject(ctx, a.r.Log, agg.Tenant, agg.ID)
	if err != nil {
		return nil, fmt.Errorf("read subject: %w", err)
	}
	var out []events.Event
	for _, c := range list {
		held := slices.Contains(state.Holds, c.Token)
		switch c.What {
		case ledger.WhatHeld:
			if held {
				continue
			}
			a.found.holds[named{agg.Tenant, agg.ID}] = true
		case ledger.WhatReleased:
			if !held {
				continue
			}
		case ledger.WhatConsentGranted:
			if state.Consents[c.Token] {
				continue
			}
			a.report.Bare++
		case ledger.WhatConsentWithdrawn:
		}
		e := c.Event()
		state.Apply(events.Recorded{Commit: events.Commit{Events: []events.Event{e}}, Position: state.Position + 1})
		out = append(out, e)
	}
	a.report.Changes += len(out)
	return out, nil
}
