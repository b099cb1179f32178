package producers

import (
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/policy"
)

// The gates of a decision on a candidate, in their order.
const (
	GateIdentity   = "identity"
	GateLiveness   = "liveness"
	GateConsent    = policy.GateConsent
	GateGuardrail  = policy.GateGuardrail
	GateProvenance = policy.GateProvenance
	GateConfidence = policy.GateConfidence
	GateConflict   = "conflict"
)

// The reasons of the gates, beside those of a [Placement] and the ids of the
// rules of a policy.
const (
	ReasonOK                 = policy.ReasonOK
	ReasonNoSource           = "no_source"
	ReasonUnknownSource      = "unknown_source"
	ReasonSourceOtherSubject = "source_other_subject"
	ReasonSourceForgotten    = "source_forgotten"
	ReasonSourceRetired      = "source_retired"
	ReasonConsentWithdrawn   = "consent_withdrawn"
	ReasonLowTrust           = "untrusted_origin"
	ReasonTrusted            = "trusted_origin"
	// ReasonApproved: reviewers have lifted what the gate asked a review for.
	ReasonApproved = "approved"
	// ReasonReviewed and ReasonEdited: a reviewer has rejected the candidate, or
	// replaced it by another.
	ReasonReviewed = "review_rejected"
	ReasonEdited   = "edited"
)

// gates are those of the floor, which no policy loosens, in their order. Where
// only a policy has something to say they are open.
func (c *Case) gates() []events.Gate {
	return []events.Gate{
		c.identity(),
		c.liveness(),
		c.consent(),
		gate(GateGuardrail, events.DecisionPromote, ReasonOK),
		c.provenance(),
		gate(GateConfidence, events.DecisionPromote, ReasonOK),
		c.conflict(),
	}
}

func gate(name string, outcome events.Decision, reason string) events.Gate {
	return events.Gate{Gate: name, Outcome: outcome, Reason: reason}
}

// identity: every source existed in the tenant when the fact was proposed, and is
// about the subject that the fact is about. One that came later has neither lent
// the fact its trust nor is it found there when it is forgotten.
func (c *Case) identity() events.Gate {
	if len(c.Basis.Evidence) == 0 {
		return gate(GateIdentity, events.DecisionReject, ReasonNoSource)
	}
	other := false
	for _, e := range c.Basis.Evidence {
		if !e.Found || slices.ContainsFunc(c.Candidate.Sources, func(s events.SourceRef) bool {
			return s.Episode == e.Episode && s.Subject == ""
		}) {
			return gate(GateIdentity, events.DecisionReject, ReasonUnknownSource)
		}
		other = other || e.Other
	}
	if other {
		return gate(GateIdentity, events.DecisionReview, ReasonSourceOtherSubject)
	}
	return gate(GateIdentity, events.DecisionPromote, ReasonOK)
}

// liveness: nothing is derived from what was forgotten, nor from what its source
// has revised since, unless there is something else, and somebody looks at it.
func (c *Case) liveness() events.Gate {
	retired := 0
	for _, e := range c.Basis.Evidence {
		if e.Forgotten {
			return gate(GateLiveness, events.DecisionReject, ReasonSourceForgotten)
		}
		if e.Retired {
			retired++
		}
	}
	switch retired {
	case 0:
		return gate(GateLiveness, events.DecisionPromote, ReasonOK)
	case len(c.Basis.Evidence):
		return gate(GateLiveness, events.DecisionReject, ReasonSourceRetired)
	}
	return gate(GateLiveness, events.DecisionReview, ReasonSourceRetired)
}

// consent: nothing is kept against a consent that was taken back.
func (c *Case) consent() events.Gate {
	if c.Basis.Consent == events.ConsentTakenBack {
		return gate(GateConsent, events.DecisionReject, ReasonConsentWithdrawn)
	}
	return gate(GateConsent, events.DecisionPromote, ReasonOK)
}

// provenance: what is external or from a tool is not promoted without a review,
// and what a reviewer has turned down not at all.
func (c *Case) provenance() events.Gate {
	for _, r := range c.Basis.Reviews {
		switch r.Verdict {
		case events.VerdictReject:
			return gate(GateProvenance, events.DecisionReject, ReasonReviewed)
		case events.VerdictEdit:
			return gate(GateProvenance, events.DecisionReject, ReasonEdited)
		case events.VerdictApprove, events.VerdictWithdraw:
		}
	}
	if c.Candidate.Trust.IsUntrusted() {
		return gate(GateProvenance, events.DecisionReview, ReasonLowTrust)
	}
	return gate(GateProvenance, events.DecisionPromote, ReasonTrusted)
}

func (c *Case) conflict() events.Gate {
	outcome := events.DecisionPromote
	switch c.Basis.Conflict {
	case ReasonLowerTrust, ReasonUndecidable:
		outcome = events.DecisionReview
	case ReasonStaleVersion, "":
		outcome = events.DecisionReject
	}
	return gate(GateConflict, outcome, c.Basis.Conflict)
}

// tighten enters what a policy says of a gate: it counts only where it is worse.
// What no policy should say is worst of all.
func tighten(gates []events.Gate, said events.Gate) {
	i := slices.IndexFunc(gates, func(g events.Gate) bool { return g.Gate == said.Gate })
	known := i >= 0 && slices.Contains([]string{GateConsent, GateGuardrail, GateProvenance, GateConfidence}, said.Gate)
	if !known || severity(said.Outcome) < 0 {
		i = max(i, 0)
		said = gate(gates[i].Gate, events.DecisionReject, policy.ReasonError)
	}
	if severity(said.Outcome) > severity(gates[i].Outcome) {
		gates[i] = said
	}
}

// waive lifts what asks for a review where reviewers have approved. It lifts no
// rejection, and nothing of what the subject agreed to: that is not a reviewer's
// to give.
func waive(gates []events.Gate) {
	for i, g := range gates {
		if g.Gate != GateConsent && (g.Outcome == events.DecisionReview || g.Outcome == events.DecisionQuarantine) {
			gates[i] = gate(g.Gate, events.DecisionPromote, ReasonApproved)
		}
	}
}

// approvals is the number of distinct reviewers who have approved.
func approvals(reviews []events.ReviewBasis) int {
	seen := make(map[string]bool, len(reviews))
	for _, r := range reviews {
		if r.Verdict == events.VerdictApprove {
			seen[r.Reviewer] = true
		}
	}
	return len(seen)
}

// severity orders the decisions, best first; it is negative for none of them.
func severity(d events.Decision) int {
	return slices.Index([]events.Decision{
		events.DecisionPromote, events.DecisionReview, events.DecisionQuarantine, events.DecisionReject,
	}, d)
}

// worst is the decision of the gates.
func worst(gates []events.Gate) events.Decision {
	w := events.DecisionPromote
	for _, g := range gates {
		if severity(g.Outcome) > severity(w) {
			w = g.Outcome
		}
	}
	return w
}
