package producers

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/annals-memory/annals/events"
)

// The gates of a decision on a candidate, in their order.
const (
	GateIdentity   = "identity"
	GateLiveness   = "liveness"
	GateProvenance = "provenance"
	GateConfidence = "confidence"
	GateConflict   = "conflict"
)

// The reasons of the gates, beside those of a [Placement].
const (
	ReasonOK                 = "ok"
	ReasonNoSource           = "no_source"
	ReasonUnknownSource      = "unknown_source"
	ReasonSourceOtherSubject = "source_other_subject"
	ReasonSourceForgotten    = "source_forgotten"
	ReasonLowTrust           = "untrusted_origin"
	ReasonTrusted            = "trusted_origin"
	ReasonConfident          = "confident"
	ReasonBelowThreshold     = "below_threshold"
)

// Policy is the part of a decision that can be chosen. The floor is in code
// and no policy loosens it: a policy sees only what the floor lets through to
// its gate, and the worst outcome of all gates wins.
type Policy struct {
	Name    string
	Version int
	// Text is the canonical text of what Evaluator does; its hash is recorded
	// with every decision.
	Text string
	Evaluator
}

// Evaluator evaluates a policy. It is pure and safe for concurrent use.
type Evaluator interface {
	// Evaluate returns the gates that the policy adds, in order.
	Evaluate(in PolicyInput) []events.Gate
}

// PolicyInput is what a policy may look at: nothing of it names anybody.
type PolicyInput struct {
	Confidence float64
	// Trust is the lowest of the caller's and the sources'.
	Trust events.Trust
	// Sources is the number of living sources.
	Sources int
	// Conflict is the reason of the placement.
	Conflict string
}

// Ref names the exact policy.
func (p Policy) Ref() events.PolicyRef {
	sum := sha256.Sum256([]byte(p.Text))
	return events.PolicyRef{Name: p.Name, Version: p.Version, Hash: hex.EncodeToString(sum[:])}
}

// MinConfidence is the confidence from which the default policy promotes.
const MinConfidence = 0.95

// DefaultPolicy promotes from a confidence of 0.95 and sends the rest to
// review.
func DefaultPolicy() Policy {
	return Policy{
		Name: "default", Version: 1,
		Text:      "confidence: promoted if confidence >= 0.95, else review\n",
		Evaluator: threshold(MinConfidence),
	}
}

type threshold float64

// Evaluate implements [Evaluator].
func (t threshold) Evaluate(in PolicyInput) []events.Gate {
	if in.Confidence >= float64(t) { // false for NaN
		return []events.Gate{{Gate: GateConfidence, Outcome: events.DecisionPromote, Reason: ReasonConfident}}
	}
	return []events.Gate{{Gate: GateConfidence, Outcome: events.DecisionReview, Reason: ReasonBelowThreshold}}
}

// severity orders the decisions, best first. What no policy should say is
// worst.
func severity(d events.Decision) int {
	return slices.Index([]events.Decision{
		events.DecisionPromote, events.DecisionReview, events.DecisionQuarantine, events.DecisionReject,
	}, d)
}

// worst is the decision of the gates. No gate, or an outcome that does not
// exist, rejects.
func worst(gates []events.Gate) events.Decision {
	w := events.DecisionReject
	for i, g := range gates {
		s := severity(g.Outcome)
		if s < 0 {
			return events.DecisionReject
		}
		if i == 0 || s > severity(w) {
			w = g.Outcome
		}
	}
	return w
}
