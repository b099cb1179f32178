package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/projectors"
)

// The relations of a link.
const (
	relationSource       = "source"
	relationMergedInto   = "merged_into"
	relationMergedFrom   = "merged_from"
	relationSupersededBy = "superseded_by"
	relationSupersedes   = "supersedes"
)

// FactLineage returns what a fact came from and what came from it. Sources that
// were forgotten are named and shown as forgotten, without anything they held;
// so is everything else in the lineage, and what is kept under a legal hold. It
// reads the slot from the log, because the views know no longer what a fact has
// lost. Where a source is withheld from agents they get no reference to it. Auditors may ask too and get no references to sources outside. The errors
// are those of [Service.Fact] and the log's.
func (s *Service) FactLineage(ctx context.Context, caller events.Caller, req RecordRequest) (LineageAnswer, error) {
	r, err := s.open(ctx, caller, req.WaitFor,
		events.RoleAgent, events.RoleReviewer, events.RoleAdmin, events.RoleAuditor)
	if err != nil {
		return LineageAnswer{}, err
	}
	defer r.close()
	row, err := r.fact(req.ID)
	if err != nil {
		return LineageAnswer{}, err
	}
	withheld, err := s.withholds(ctx, r, &row)
	if err != nil {
		return LineageAnswer{}, err
	}
	if withheld {
		return LineageAnswer{}, events.ErrNotFound
	}
	history, err := s.slotLineage(ctx, r.token, &row)
	if err != nil {
		return LineageAnswer{}, err
	}
	answer := LineageAnswer{ID: row.Fact, From: []Link{}, To: []Link{}, Position: r.snap.Position()}
	sources, err := s.sourceLinks(ctx, r, history.sources, caller)
	if err != nil {
		return LineageAnswer{}, err
	}
	again, err := s.again(ctx, r)
	if err != nil {
		return LineageAnswer{}, err
	}
	defer again.close()
	if err := again.lookAgain(row.Fact, sources); err != nil {
		return LineageAnswer{}, err
	}
	answer.From = append(answer.From, sources...)
	if !r.untrusted {
		answer.Decision = decisionOf(&row)
	}
	for _, l := range []struct {
		relation string
		ids      []string
		to       *[]Link
	}{
		{relationMergedFrom, history.mergedFrom, &answer.From},
		{relationSupersedes, history.supersedes, &answer.From},
		{relationMergedInto, history.mergedInto, &answer.To},
		{relationSupersededBy, history.supersededBy, &answer.To},
	} {
		for _, id := range l.ids {
			link, err := again.factLink(l.relation, id)
			if err != nil {
				return LineageAnswer{}, err
			}
			*l.to = append(*l.to, link)
		}
	}
	return answer, nil
}

// slotHistory is what the events of a slot say about one fact, ids only and
// each once.
type slotHistory struct {
	sources                                          []string
	mergedFrom, mergedInto, supersedes, supersededBy []string
}

func (s *Service) slotLineage(ctx context.Context, token string, row *projectors.FactRow) (*slotHistory, error) {
	h := &slotHistory{}
	agg := events.Aggregate{Tenant: token, Kind: events.KindFact, ID: row.Slot}
	for r, err := range s.log.ReadAggregate(ctx, agg, 0) {
		if err != nil {
			return nil, fmt.Errorf("read slot: %w", err)
		}
		for _, e := range r.Events {
			h.apply(e, row.Fact)
		}
	}
	return h, nil
}

func (h *slotHistory) apply(e events.Event, fact string) {
	switch e := e.(type) {
	case events.FactProposed:
		if e.Fact == fact {
			h.sources = appendNew(h.sources, sourceIDs(e.Sources)...)
		}
	case events.FactCorroborated:
		if e.Fact == fact {
			h.sources = appendNew(h.sources, sourceIDs(e.Sources)...)
			h.mergedFrom = appendNew(h.mergedFrom, e.Candidate)
		}
	case events.FactReopened:
		h.reopen(e.Fact, fact)
	case events.FactSourceLost:
		if e.Fact == fact && e.Erasure == "" { // it was never the fact's, for all that stands by now
			h.sources = slices.DeleteFunc(h.sources, func(id string) bool { return id == e.Source })
		}
	case events.FactDecided:
		if e.Fact == fact && e.Into != "" && e.Into != fact {
			h.mergedInto = appendNew(h.mergedInto, e.Into)
		}
	case events.FactSuperseded:
		if e.Fact == fact {
			h.supersededBy = appendNew(h.supersededBy, e.By)
		}
		if e.By == fact {
			h.supersedes = appendNew(h.supersedes, e.Fact)
		}
	case events.EpisodeCaptured, events.EpisodeQuarantined, events.EpisodeDropped, events.EpisodeForgotten,
		events.SourceRevised, events.FactReviewed, events.FactRestored, events.FactPromoted, events.FactRetracted,
		events.FactForgotten, events.SubjectRegistered, events.SubjectForgotten,
		events.SubjectHeld, events.SubjectReleased, events.ConsentGranted, events.ConsentWithdrawn,
		events.SubjectExported, events.ValueSuppressed, events.SuppressionRemoved,
		events.ErasureRequested, events.ErasureAdvanced, events.VectorEmbedded, events.TraceRecalled, events.TraceUsed, events.TraceJudged, events.PolicyActivated:
	}
}

func appendNew(list []string, ids ...string) []string {
	for _, id := range ids {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// sourceLinks says of each source episode what is left of it. An id that never
// was an episode of the tenant looks like one that was forgotten.
func (s *Service) sourceLinks(ctx context.Context, r *reading, ids []string, caller events.Caller) ([]Link, error) {
	var links []Link
	var items []seal.Item
	var rows []*projectors.EpisodeRow
	at := make(map[int]int)
	for _, id := range ids {
		link := Link{Kind: string(events.KindEpisode), ID: id, Relation: relationSource}
		row, err := aliveEpisode(r.snap, r.token, id)
		switch {
		case err != nil:
			return nil, err
		case row == nil:
			link.Forgotten = true // or it never was
		default:
			if !row.OccurredUnknown {
				link.OccurredAt = events.AtOrNil(row.OccurredAt)
			}
			at[len(items)] = len(links)
			items, rows = append(items, episodeItem(row)), append(rows, row)
		}
		links = append(links, link)
	}
	if !caller.Has(events.RoleAgent, events.RoleReviewer, events.RoleAdmin) {
		return links, nil
	}
	opened, err := s.openAll(ctx, items)
	if err != nil {
		return nil, err
	}
	for i, plain := range opened {
		if plain == nil {
			links[at[i]].Forgotten, links[at[i]].OccurredAt = true, nil
			continue
		}
		content, err := parse[events.EpisodeContent](plain)
		if err != nil {
			return nil, err
		}
		if r.all || !s.suspiciousEpisode(rows[i], &content) {
			links[at[i]].Source = &content.Source
		}
	}
	return links, nil
}

// lookAgain looks for tombstones and holds after the opening.
func (r *reading) lookAgain(fact string, sources []Link) error {
	if _, err := r.fact(fact); err != nil {
		return err
	}
	for i := range sources {
		row, err := aliveEpisode(r.snap, r.token, sources[i].ID)
		if err != nil {
			return err
		}
		if row == nil {
			sources[i].Forgotten, sources[i].OccurredAt, sources[i].Source = true, nil, nil
		}
	}
	return nil
}

func (r *reading) factLink(relation, id string) (Link, error) {
	link := Link{Kind: string(events.KindFact), ID: id, Relation: relation}
	_, err := r.fact(id)
	switch {
	case errors.Is(err, events.ErrForgotten), errors.Is(err, events.ErrNotFound):
		link.Forgotten = true
	case err != nil:
		return Link{}, err
	}
	return link, nil
}
