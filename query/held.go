package query

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors"
)

// shownSources are the sources of a fact that may be named: those of subjects that
// are not under a legal hold. The list that it was given stays as it is.
func shownSources(snap *projectors.Snapshot, tenant string, sources []events.SourceRef) []events.SourceRef {
	hidden := func(src events.SourceRef) bool { return src.Subject != "" && snap.Held(tenant, src.Subject) }
	if !slices.ContainsFunc(sources, hidden) {
		return sources
	}
	return slices.DeleteFunc(slices.Clone(sources), hidden)
}

// hideHeld takes the memories out of a trace that are kept under a legal hold.
func hideHeld(snap *projectors.Snapshot, row *projectors.TraceRow) error {
	hidden := make(map[string]bool)
	for _, id := range slices.Concat(row.Memories, row.Used, slices.Collect(maps.Keys(row.Judged))) {
		if _, asked := hidden[id]; asked {
			continue
		}
		owner, err := snap.Owner(row.Tenant, id)
		if err != nil {
			return fmt.Errorf("read record: %w", err)
		}
		hidden[id] = owner != "" && snap.Held(row.Tenant, owner)
	}
	is := func(id string) bool { return hidden[id] }
	row.Memories, row.Used = slices.DeleteFunc(row.Memories, is), slices.DeleteFunc(row.Used, is)
	maps.DeleteFunc(row.Judged, func(id string, _ events.Judgement) bool { return hidden[id] })
	return nil
}

// unseen tells why a record that was there when the reading began could not be
// shown: its subject came under a hold meanwhile, or what [Service.lost] says.
func (s *Service) unseen(ctx context.Context, r *reading, kind events.Kind, id, sid string) error {
	agg := events.Aggregate{Tenant: r.token, Kind: events.KindSubject, ID: sid}
	// The hold may be lifted again by now: what counts is that there was one.
	for rec, err := range s.log.ReadAggregate(ctx, agg, r.snap.Position()) {
		if err != nil {
			return fmt.Errorf("read subject: %w", err)
		}
		for _, e := range rec.Events {
			if _, ok := e.(events.SubjectHeld); ok {
				return events.ErrNotFound
			}
		}
	}
	return s.lost(ctx, r.token, kind, id, sid)
}
