package producers

import (
	"context"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/policy"
)

// standsAs is a fact that goes on being what it is now, whatever its slot becomes;
// nil is none.
func standsAs(f *events.SlotFact) *events.SlotFact {
	if f == nil {
		return nil
	}
	was := *f
	was.Sources, was.Reviews = slices.Clone(f.Sources), slices.Clone(f.Reviews)
	return &was
}

// isOver says whether this command has said what its reviewer thinks and the
// candidate has been decided on since, or that was taken back. What it said is never said
// again: that would have one key take effect twice.
func (v *review) isOver(f *events.SlotFact) bool {
	return v.said != nil && v.then != nil && f != nil &&
		(f.Status != events.StatusCandidate || !f.Stands(v.principal, v.said.Position))
}

// saidBefore is the first answer to an approval that was not the last. One that
// was cut off before it could decide has had none, and comes too late.
func (g *Gateway) saidBefore(ctx context.Context, v *review, f *events.SlotFact) (Reviewed, error) {
	if err := g.shown(ctx, v, f); err != nil {
		return Reviewed{}, err
	}
	content, _, err := g.openFact(ctx, v.slot.aggregate.Tenant, f)
	if err != nil {
		return Reviewed{}, err
	}
	by, err := g.policyOf(ctx, v.slot.aggregate.Tenant)
	if err != nil {
		return Reviewed{}, err
	}
	reviews, _ := reviewsOf(v.then, v.principal, v.request.ContentHash)
	decision := v.then.Decision
	d := verdictOn{
		approvals: approvals(reviews), needed: max(1, by.Approvals(policy.NewInput(v.then.FactProposed, content, decision.Basis))),
		gates: decision.Gates, policy: decision.Policy,
	}
	if d.approvals >= d.needed {
		return Reviewed{}, v.conflict()
	}
	return v.waiting(d), nil
}
