package producers

import (
	"slices"

	"github.com/annals-memory/annals/events"
)

// Evidence is what the log says of one source that a candidate names.
type Evidence struct {
	// Ref names the episode and its subject. Its episode is "" for an id that
	// can be no episode's.
	Ref events.SourceRef
	// Found says that there is, or was, such an episode in the tenant.
	Found bool
	// Forgotten says that the episode or its subject has a tombstone, of the
	// erasure named.
	Forgotten bool
	Erasure   string
	// Trust is the episode's.
	Trust events.Trust
}

// Supported is a candidate with its sources, and with the lowest trust of its
// own, which is the caller's, and of the sources that are alive. It is pure.
func Supported(candidate events.FactProposed, evidence []Evidence) events.FactProposed {
	candidate.Sources = make([]events.SourceRef, 0, len(evidence))
	for _, e := range evidence {
		if e.Ref.Episode != "" {
			candidate.Sources = append(candidate.Sources, e.Ref)
		}
		if e.Found && !e.Forgotten {
			candidate.Trust = min(candidate.Trust, e.Trust)
		}
	}
	return candidate
}

// Decide decides on a candidate: the events of one commit of its slot, which
// hold no value. It is pure: equal inputs give equal events. The candidate is as
// [Supported] made it, and may stand in the slot already, undecided; the
// evidence may be newer, and what the candidate did not know as a source is none.
// Equal tells which facts of the slot have its value.
func Decide(slot *events.Slot, candidate events.FactProposed, evidence []Evidence, equal func(fact string) bool, policy Policy) []events.Event {
	living := 0
	for _, e := range evidence {
		if e.Found && !e.Forgotten {
			living++
		}
	}
	place := Place(slot, claimOf(candidate, equal))
	gates := []events.Gate{identityGate(candidate, evidence), livenessGate(evidence), provenanceGate(candidate.Trust)}
	gates = append(gates, policy.Evaluate(PolicyInput{
		Confidence: candidate.Confidence, Trust: candidate.Trust, Sources: living, Conflict: place.Reason,
	})...)
	gates = append(gates, conflictGate(place))

	decided := events.FactDecided{
		Fact: candidate.Fact, Decision: worst(gates), Gates: gates, Policy: policy.Ref(),
	}
	if decided.Decision != events.DecisionPromote {
		return []events.Event{decided}
	}
	if place.Into != "" {
		decided.Into = place.Into
		return []events.Event{decided, events.FactCorroborated{
			Fact: place.Into, Candidate: candidate.Fact, Sources: candidate.Sources,
		}}
	}
	decided.Into = candidate.Fact
	list := []events.Event{decided, events.FactPromoted{Fact: candidate.Fact, Valid: place.Valid}}
	for _, c := range place.Changed {
		list = append(list, events.FactSuperseded{Fact: c.Fact, By: candidate.Fact, Valid: c.Valid})
	}
	return list
}

func claimOf(f events.FactProposed, equal func(string) bool) Claim {
	c := Claim{From: f.ValidFrom, To: f.ValidTo, ObservedAt: f.ObservedAt, Trust: f.Trust, Equal: equal}
	if c.From.IsZero() {
		c.From = f.ObservedAt
	}
	return c
}

func gate(name string, outcome events.Decision, reason string) events.Gate {
	return events.Gate{Gate: name, Outcome: outcome, Reason: reason}
}

// identityGate: every source existed in the tenant when the fact was proposed,
// and is about the subject that the fact is about. One that came later has
// neither lent the fact its trust nor is it found there when it is forgotten.
func identityGate(f events.FactProposed, evidence []Evidence) events.Gate {
	if len(evidence) == 0 {
		return gate(GateIdentity, events.DecisionReject, ReasonNoSource)
	}
	other := false
	for _, e := range evidence {
		if !e.Found || slices.Contains(f.Sources, events.SourceRef{Episode: e.Ref.Episode}) {
			return gate(GateIdentity, events.DecisionReject, ReasonUnknownSource)
		}
		other = other || e.Ref.Subject != f.Subject
	}
	if other {
		return gate(GateIdentity, events.DecisionReview, ReasonSourceOtherSubject)
	}
	return gate(GateIdentity, events.DecisionPromote, ReasonOK)
}

// livenessGate: nothing is derived from what was forgotten.
func livenessGate(evidence []Evidence) events.Gate {
	for _, e := range evidence {
		if e.Forgotten {
			return gate(GateLiveness, events.DecisionReject, ReasonSourceForgotten)
		}
	}
	return gate(GateLiveness, events.DecisionPromote, ReasonOK)
}

// provenanceGate is the floor: what is external or from a tool is not promoted
// without a review.
func provenanceGate(trust events.Trust) events.Gate {
	if trust <= events.TrustTool {
		return gate(GateProvenance, events.DecisionReview, ReasonLowTrust)
	}
	return gate(GateProvenance, events.DecisionPromote, ReasonTrusted)
}

func conflictGate(p Placement) events.Gate {
	outcome := events.DecisionPromote
	if p.Reason == ReasonLowerTrust || p.Reason == ReasonUndecidable {
		outcome = events.DecisionReview
	}
	return gate(GateConflict, outcome, p.Reason)
}
