package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// Trace returns what an answer was made of, and which of it was used and how it
// was judged. An auditor sees the ids, not the question. Ids of memories that
// were forgotten since stay: they name nothing any more. Those of memories that
// are kept under a legal hold are left out, and so is a trace that such a subject
// was asked about. The errors are ErrForbidden, ErrNotFound and ErrBehind.
func (s *Service) Trace(ctx context.Context, caller events.Caller, req RecordRequest) (TraceAnswer, error) {
	r, err := s.open(ctx, caller, req.WaitFor,
		events.RoleAgent, events.RoleReviewer, events.RoleAdmin, events.RoleAuditor)
	if err != nil {
		return TraceAnswer{}, err
	}
	defer r.close()
	id := token.CanonicalID(req.ID)
	if id == "" || r.tenant == nil {
		return TraceAnswer{}, events.ErrNotFound
	}
	row, err := r.snap.Trace(r.token, id)
	if errors.Is(err, events.ErrNotFound) {
		return TraceAnswer{}, events.ErrNotFound
	}
	if err != nil {
		return TraceAnswer{}, fmt.Errorf("read trace: %w", err)
	}
	if r.snap.Held(r.token, row.Subject) {
		return TraceAnswer{}, events.ErrNotFound
	}
	if err := hideHeld(r.snap, &row); err != nil {
		return TraceAnswer{}, err
	}
	answer := TraceAnswer{
		ID: row.Trace, MemoryIDs: row.Memories, Used: row.Used, Judged: row.Judged, Weights: row.Weights,
		ReadAt: row.At, RecordedAt: events.At(row.RecordedAt), Position: r.snap.Position(),
	}
	if answer.MemoryIDs == nil {
		answer.MemoryIDs = []string{}
	}
	if answer.Used == nil {
		answer.Used = []string{}
	}
	if answer.Judged == nil {
		answer.Judged = map[string]events.Judgement{}
	}
	if !caller.Has(events.RoleAgent, events.RoleReviewer, events.RoleAdmin) {
		return answer, nil
	}
	opened, err := s.openAll(ctx, []seal.Item{traceItem(&row)})
	if err != nil {
		return TraceAnswer{}, err
	}
	fresh, err := s.views.Snapshot(ctx)
	if err != nil {
		return TraceAnswer{}, fmt.Errorf("open snapshot: %w", err)
	}
	defer fresh.Close() //nolint:errcheck // A snapshot that was only read has nothing to lose.
	if fresh.Held(r.token, row.Subject) {
		return TraceAnswer{}, events.ErrNotFound
	}
	if opened[0] == nil {
		answer.Forgotten = true
		return answer, nil
	}
	content, err := parse[events.TraceContent](opened[0])
	if err != nil {
		return TraceAnswer{}, err
	}
	answer.Query = content.Query
	return answer, nil
}
