package producers

import (
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/policy"
)

// regate is what the gates of a recorded decision would be under a policy. What
// the code alone decides is as recorded; what rules add to is decided again.
func regate(d events.FactDecided, f events.FactProposed, content events.FactContent, p *policy.Policy) []events.Gate {
	in := policy.NewInput(f, content, d.Basis)
	added := p.Evaluate(in)
	approved := approvals(d.Basis.Reviews) >= p.Approvals(in)
	gates := slices.Clone(d.Gates)
	for i := range gates {
		g := &gates[i]
		switch g.Gate {
		case policy.GateConsent:
			*g = worstOf(consentFloor(d.Basis), added)
		case policy.GateGuardrail, policy.GateConfidence:
			*g = worstOf(gate(g.Gate, events.DecisionPromote, ReasonOK), added)
		case policy.GateProvenance:
			*g = worstOf(provenanceGate(in.Trust), added)
		default:
			continue
		}
		if approved && g.Outcome != events.DecisionReject && g.Outcome != events.DecisionPromote {
			g.Outcome, g.Reason = events.DecisionPromote, "approved"
		}
	}
	return gates
}

// approvals is the number of distinct reviewers who approve.
func approvals(list []events.ReviewBasis) int {
	seen := make(map[string]bool, len(list))
	for _, r := range list {
		if r.Verdict == events.VerdictApprove {
			seen[r.Reviewer] = true
		}
	}
	return max(len(seen), 0)
}

func consentFloor(b events.Basis) events.Gate {
	if b.Consent == events.ConsentTakenBack {
		return gate(policy.GateConsent, events.DecisionReject, "consent_withdrawn")
	}
	return gate(policy.GateConsent, events.DecisionPromote, ReasonOK)
}

// worstOf is the gate of the floor, unless rules say worse of it.
func worstOf(floor events.Gate, added []events.Gate) events.Gate {
	for _, g := range added {
		if g.Gate == floor.Gate && severity(g.Outcome) > severity(floor.Outcome) {
			return g
		}
	}
	return floor
}
