package query

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/projectors"
)

// TracesRequest lists traces that somebody has reported on.
type TracesRequest struct {
	Cursor string `json:"cursor,omitempty"`
	// Limit is the most traces that are looked at for a page, 1 to 1,000; nil is 50.
	Limit   *int   `json:"limit,omitempty"`
	WaitFor uint64 `json:"wait_for,omitempty"`
}

func (r *TracesRequest) question() string { return "traces" }

// TracesAnswer is one page of traces.
type TracesAnswer struct {
	Traces []ReportedTrace `json:"traces"`
	// Cursor goes on behind the last trace; empty at the end.
	Cursor   string `json:"cursor,omitempty"`
	Position uint64 `json:"position"`
}

// ReportedTrace is a recall and what was said of its results.
type ReportedTrace struct {
	ID         string      `json:"trace_id"`
	RecordedAt events.Time `json:"recorded_at"`
	// Weights is the name of those that ranked.
	Weights string `json:"weights,omitempty"`
	// Results are in the order of the answer.
	Results []ReportedResult `json:"results"`
	// IsUseReported says that somebody told which results were used.
	IsUseReported bool `json:"use_reported"`
	// Forgotten counts the results that are left out because they were forgotten.
	Forgotten int `json:"forgotten"`
}

// ReportedResult is one result of a recall, without what it says.
type ReportedResult struct {
	ID string `json:"id"`
	// Recorded is the position of its record: of equal scores the later one comes
	// first.
	Recorded uint64 `json:"recorded_position"`
	// Terms are those of the score as they were then; nil if the trace is of a version
	// that did not keep them.
	Terms     *Components      `json:"terms,omitempty"`
	Used      bool             `json:"used"`
	Judgement events.Judgement `json:"judgement,omitempty"`
}

// Traces lists the traces whose results somebody has used or judged, page by page in
// the order of their ids, with what the weights of a ranking apply to. It shows no
// text, and nothing is written. A page can be shorter than its limit, also empty, and
// not be the last: the cursor says. What is forgotten is left out and counted; what is
// kept under a legal hold is left out, as with [Service.Trace]. The errors are
// ErrForbidden, an InputError and ErrBehind.
func (s *Service) Traces(ctx context.Context, caller events.Caller, req TracesRequest) (TracesAnswer, error) {
	if err := checkLimit(req.Limit); err != nil {
		return TracesAnswer{}, err
	}
	r, err := s.open(ctx, caller, req.WaitFor, events.RoleReviewer, events.RoleAdmin, events.RoleAuditor)
	if err != nil {
		return TracesAnswer{}, err
	}
	defer r.close()
	answer := TracesAnswer{Traces: []ReportedTrace{}, Position: r.snap.Position()}
	after, err := r.after(req.question(), req.Cursor)
	if err != nil || r.tenant == nil {
		return answer, err
	}
	rows, next, err := r.snap.Traces(r.token, after, limitOf(req.Limit))
	if err != nil {
		return TracesAnswer{}, fmt.Errorf("list traces: %w", err)
	}
	rows = slices.DeleteFunc(rows, func(row projectors.TraceRow) bool {
		return len(row.Used)+len(row.Judged) == 0 || r.snap.Held(r.token, row.Subject)
	})
	items := make([]seal.Item, len(rows))
	for i := range rows {
		items[i] = traceItem(&rows[i])
	}
	opened, err := s.openAll(ctx, items)
	if err != nil {
		return TracesAnswer{}, err
	}
	for i := range rows {
		if opened[i] == nil {
			continue // it was forgotten with its subject
		}
		content, err := parse[events.TraceContent](opened[i])
		if err != nil {
			return TracesAnswer{}, err
		}
		t, err := r.reported(&rows[i], content.Terms)
		if err != nil {
			return TracesAnswer{}, err
		}
		answer.Traces = append(answer.Traces, t)
	}
	answer.Cursor = encodeCursor(r.tenant, req.question(), next)
	return answer, nil
}

// reported is what is shown of a trace.
func (r *reading) reported(row *projectors.TraceRow, terms *events.RecallTerms) (ReportedTrace, error) {
	if terms != nil {
		if n := terms.Len(); n < 0 || n > len(row.Memories) {
			return ReportedTrace{}, errUnreadable
		}
		row.Memories = row.Memories[:terms.Len()] // the rest was named beside them, and not ranked
	}
	of := make(map[string]*Components, len(row.Memories))
	for i, id := range row.Memories {
		if terms != nil {
			of[id] = &Components{Relevance: terms.Relevance[i], Freshness: terms.Freshness[i], Reliability: terms.Reliability[i]}
		}
	}
	if err := hideHeld(r.snap, row); err != nil {
		return ReportedTrace{}, err
	}
	out := ReportedTrace{
		ID: row.Trace, RecordedAt: events.At(row.RecordedAt), Weights: row.Weights, Results: []ReportedResult{},
		IsUseReported: len(row.Used) > 0,
	}
	for _, id := range row.Memories {
		recorded, ok, err := r.recordedAt(id)
		if err != nil {
			return ReportedTrace{}, err
		}
		if !ok {
			out.Forgotten++
			continue
		}
		out.Results = append(out.Results, ReportedResult{
			ID: id, Recorded: recorded, Terms: of[id], Used: slices.Contains(row.Used, id), Judgement: row.Judged[id],
		})
	}
	return out, nil
}

// recordedAt is the position of a memory by which equal scores are told apart, if it
// is there still.
func (r *reading) recordedAt(id string) (position uint64, ok bool, err error) {
	e, err := aliveEpisode(r.snap, r.token, id)
	if err != nil {
		return 0, false, err
	}
	if e != nil {
		return e.Position, true, nil
	}
	f, err := aliveFact(r.snap, r.token, id)
	if err != nil || f == nil {
		return 0, false, err
	}
	return f.ProposedAt, true, nil
}

// WeightsAnswer are the named weights.
type WeightsAnswer struct {
	Weights map[string]Weights `json:"weights"`
}

// Weights returns the weights that a recall can name. The error is ErrForbidden.
func (s *Service) Weights(caller events.Caller) (WeightsAnswer, error) {
	if !caller.Has(events.RoleAgent, events.RoleReviewer, events.RoleAdmin, events.RoleAuditor) {
		return WeightsAnswer{}, events.ErrForbidden
	}
	return WeightsAnswer{Weights: maps.Clone(s.named)}, nil
}
