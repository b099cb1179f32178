package producers

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

// uniform is what an untrusted caller is told of a candidate that is not promoted:
// that it waits for a review, whatever is wrong with it. Else what was rejected, and
// why, would tell what is kept and how to get around the gates.
func uniform(p Proposed) Proposed {
	if p.Decision == events.DecisionPromote {
		return p
	}
	p.Decision, p.FactID, p.Superseded = events.DecisionReview, "", []string{}
	p.Gates = []events.Gate{gate(GateProvenance, events.DecisionReview, ReasonLowTrust)}
	return p
}

// concealHold answers an untrusted caller's proposal that a legal hold kept from being
// decided on as if it waited: a hold is nothing that it may find out about. Any other
// error, and that of another caller, is left as it is.
func (g *Gateway) concealHold(ctx context.Context, c events.Caller, w *work, because error) (Proposed, error) {
	if !c.Trust.IsUntrusted() || !errors.Is(because, events.ErrHeld) {
		return Proposed{}, because
	}
	by, err := g.policyOf(ctx, w.tenant.Token())
	if err != nil {
		return Proposed{}, err
	}
	position, err := g.logEnd(ctx)
	if err != nil {
		return Proposed{}, err
	}
	return uniform(Proposed{CandidateID: w.id, Policy: by.Ref(), Position: position}), nil
}

// concealRetraction answers an untrusted caller's retraction of what is held: what was
// never written, because of the hold, as if it were withdrawn now, and anything else
// as a read does, for what stays must not be said to be gone.
func (g *Gateway) concealRetraction(ctx context.Context, f *events.SlotFact) (Written, error) {
	if f != nil {
		return Written{}, events.ErrNotFound
	}
	position, err := g.logEnd(ctx)
	return Written{Position: position}, err
}

// logEnd is the position of the end of the log.
func (g *Gateway) logEnd(ctx context.Context) (uint64, error) {
	s, err := g.log.State(ctx)
	if err != nil {
		return 0, fmt.Errorf("read state of the log: %w", err)
	}
	return s.Last, nil
}

// emptied is a proposal of a value that is kept out, without it: it has no source,
// so that it is rejected, and its caller waits as long as for any other.
func emptied(r ProposeRequest) ProposeRequest {
	r.Value, r.SourceEpisodes, r.Provenance = jsontext.Value("null"), nil, nil
	return r
}
