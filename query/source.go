package query

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/projectors"
)

// StatusRetired is what is shown of a fact that would be current if it were not
// taken from earlier revisions of its sources only.
const StatusRetired events.FactStatus = "retired"

// SourceRequest asks for the revisions of a source.
type SourceRequest struct {
	Kind string `json:"kind"`
	Ref  string `json:"ref"`
	// Revisions are names to be found among them: the log keeps none.
	Revisions []string `json:"revision,omitempty"`
	WaitFor   uint64   `json:"wait_for,omitempty"`
}

// SourceAnswer are the revisions of a source in the order in which they became
// current. A source that nobody revised has none.
type SourceAnswer struct {
	Revisions []SourceRevision `json:"revisions"`
	Position  uint64           `json:"position"`
}

// SourceRevision is one revision of a source.
type SourceRevision struct {
	// Revision is its name if the request had it.
	Revision string `json:"revision,omitempty"`
	// Token is what stands for the name.
	Token       string      `json:"token"`
	EffectiveAt events.Time `json:"effective_at"`
	RecordedAt  events.Time `json:"recorded_at"`
	// Recorded is the position that it has been current since.
	Recorded uint64 `json:"recorded_position"`
	Current  bool   `json:"current"`
}

func (r *SourceRequest) validate() error {
	for _, n := range []struct{ field, value string }{{"kind", r.Kind}, {"ref", r.Ref}} {
		if err := checkName(n.field, n.value, true); err != nil {
			return err
		}
	}
	return checkNames("revision", r.Revisions)
}

// Source returns the revisions of a source. Auditors may ask too. The errors are
// ErrForbidden, an InputError and ErrBehind.
func (s *Service) Source(ctx context.Context, caller events.Caller, req SourceRequest) (SourceAnswer, error) {
	roles := []events.Role{events.RoleAgent, events.RoleReviewer, events.RoleAdmin, events.RoleAuditor}
	if !caller.Has(roles...) {
		return SourceAnswer{}, events.ErrForbidden
	}
	if err := req.validate(); err != nil {
		return SourceAnswer{}, err
	}
	r, err := s.open(ctx, caller, req.WaitFor, roles...)
	if err != nil {
		return SourceAnswer{}, err
	}
	defer r.close()
	answer := SourceAnswer{Revisions: []SourceRevision{}, Position: r.snap.Position()}
	if r.tenant == nil {
		return answer, nil
	}
	sources, err := r.snap.Sources(r.token)
	if err != nil {
		return SourceAnswer{}, fmt.Errorf("read sources: %w", err)
	}
	names := make(map[string]string, len(req.Revisions))
	for _, name := range req.Revisions {
		names[token.Revision(r.tenant, name)] = name
	}
	state := sources.State(token.Source(r.tenant, events.Source{Kind: req.Kind, Ref: req.Ref}))
	for i, rev := range state.Revisions {
		answer.Revisions = append(answer.Revisions, SourceRevision{
			Revision: names[rev.Revision], Token: rev.Revision, EffectiveAt: events.At(rev.EffectiveAt),
			RecordedAt: events.At(rev.RecordedAt), Recorded: rev.At, Current: i == len(state.Revisions)-1,
		})
	}
	return answer, nil
}

// currency is what is current of sources: now, or as of the valid time and as far as
// was known at the time of record, if either was asked about.
func (q *search) currency() error {
	sources, err := q.snap.Sources(q.token)
	if err != nil {
		return fmt.Errorf("read sources: %w", err)
	}
	if q.current = sources.Now(); q.asOf || q.known != nil {
		q.current = sources.At(q.at, q.known)
	}
	return nil
}

// isCurrent asks the log about one revision of a source.
func (w *witness) isCurrent(ctx context.Context, q *search, source, revision string, recorded uint64) (bool, error) {
	if source == "" {
		return true, nil
	}
	state, ok := w.sources[source]
	if !ok {
		var err error
		if state, err = events.ReadSource(ctx, w.log, w.token, source); err != nil {
			return false, fmt.Errorf("read source: %w", err)
		}
		w.sources[source] = state
	}
	if !q.asOf && q.known == nil {
		return state.IsCurrent(revision, recorded), nil
	}
	return state.WasCurrent(revision, recorded, q.at, q.recorded()), nil
}

// current is what is current of sources now.
func (r *reading) current() (projectors.Currency, error) {
	sources, err := r.snap.Sources(r.token)
	if err != nil {
		return projectors.Currency{}, fmt.Errorf("read sources: %w", err)
	}
	return sources.Now(), nil
}
