package producers

import (
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/policy"
)

// Evaluator is the part of a decision that can be chosen. It is a
// *policy.Policy. The floor is in code and no evaluator loosens it.
type Evaluator interface {
	// Ref names exactly what evaluates.
	Ref() events.PolicyRef
	// Evaluate returns the gates consent, guardrail, provenance and confidence.
	Evaluate(in policy.Input) []events.Gate
	// Approvals is how many reviewers have to approve what needs a review.
	Approvals(in policy.Input) int
}

// Case is all that is decided on, beside the slot: the candidate as it was
// proposed, what it says, and what the log and the scan said of both.
type Case struct {
	Candidate events.FactProposed
	Content   events.FactContent
	Basis     events.Basis
}

// Supported is a candidate with its sources, and with the lowest trust of its
// own, which is the caller's, of the sources that are alive, and of the context
// that it may have been made from; zero is no context. It is pure.
func Supported(candidate events.FactProposed, evidence []Evidence, context events.Trust) events.FactProposed {
	candidate.Sources = make([]events.SourceRef, 0, len(evidence))
	for _, e := range evidence {
		if e.Ref.Episode != "" {
			candidate.Sources = append(candidate.Sources, e.Ref)
		}
		if e.isAlive() {
			candidate.Trust = min(candidate.Trust, e.Trust)
		}
	}
	if context != 0 {
		candidate.Trust = min(candidate.Trust, context)
	}
	return candidate
}

// Judge decides on a case by itself, whose basis says what its place in the slot
// is. It is pure: the same case has the same decision, with the same bytes. Into
// is not filled in.
func Judge(c Case, by Evaluator) events.FactDecided {
	in := policy.NewInput(c.Candidate, c.Content, c.Basis)
	gates := c.gates()
	for _, g := range by.Evaluate(in) {
		tighten(gates, g)
	}
	if n := approvals(c.Basis.Reviews); n > 0 && n >= by.Approvals(in) {
		waive(gates)
	}
	return events.FactDecided{
		Fact: c.Candidate.Fact, Decision: worst(gates), Gates: gates, Policy: by.Ref(), Basis: c.Basis,
	}
}

// Again makes a decision of the log again, from its basis. By the policy of the
// time it is the same to the byte. By another it is what that would have decided;
// what has a place in the slot only then has no Into.
func Again(recorded events.FactDecided, candidate events.FactProposed, content events.FactContent, by Evaluator) events.FactDecided {
	d := Judge(Case{Candidate: candidate, Content: content, Basis: recorded.Basis}, by)
	if d.Decision == events.DecisionPromote {
		d.Into = recorded.Into
	}
	return d
}

// Decide decides on a case: the events of one commit of its slot, which hold no
// value. It is pure: equal inputs give equal events. The candidate is as
// [Supported] made it, and may stand in the slot already, undecided; the
// evidence may be newer, and what the candidate did not know as a source is none.
// Equal tells which facts of the slot have its value. The basis has no Conflict,
// unless it is known that no place in the slot can be the candidate's.
func Decide(slot *events.Slot, c Case, equal func(fact string) bool, by Evaluator) []events.Event {
	claim := claimOf(c.Candidate, equal)
	place := Place(slot, claim)
	if c.Basis.Conflict == "" {
		c.Basis.Conflict = place.Reason
	}
	decided := Judge(c, by)
	if decided.Decision != events.DecisionPromote {
		return []events.Event{decided}
	}
	if place.needsReview() { // and had it
		claim.Trust = reviewedTrust
		place = Place(slot, claim)
	}
	if place.Into != "" {
		decided.Into = place.Into
		return []events.Event{decided, events.FactCorroborated{
			Fact: place.Into, Candidate: c.Candidate.Fact, Sources: c.Candidate.Sources,
		}}
	}
	decided.Into = c.Candidate.Fact
	list := []events.Event{decided, events.FactPromoted{Fact: c.Candidate.Fact, Valid: place.Valid}}
	for _, changed := range place.Changed {
		list = append(list, events.FactSuperseded{Fact: changed.Fact, By: c.Candidate.Fact, Valid: changed.Valid})
	}
	return list
}

// reviewedTrust is above all others: what a reviewer has approved takes its place
// from any fact.
const reviewedTrust = events.TrustSystem + 1

func claimOf(f events.FactProposed, equal func(string) bool) Claim {
	c := Claim{From: f.ValidFrom, To: f.ValidTo, ObservedAt: f.ObservedAt, Trust: f.Trust, Equal: equal}
	if c.From.IsZero() {
		c.From = f.ObservedAt
	}
	return c
}
